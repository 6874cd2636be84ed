from long_running_agents.memory.mirrors import MarkdownItem, items, uncommented

TEXT = """# Title

A paragraph
over two lines.

## Boats
- The first item
  goes on here
* another
1. numbered
<!-- not - an
- item -->
### Deep ###
```
# no heading

- no item
```
last"""


def test_items_and_paragraphs_are_found_with_their_lines_and_headings():
    assert list(items(uncommented(TEXT))) == [
        MarkdownItem(3, "A paragraph\nover two lines.", "Title", 1),
        MarkdownItem(7, "The first item\ngoes on here", "Boats", 2, "Boats"),
        MarkdownItem(9, "another", "Boats", 2, "Boats"),
        MarkdownItem(10, "numbered", "Boats", 2, "Boats"),
        MarkdownItem(14, "```\n# no heading\n- no item\n```\nlast", "Deep ###", 3, "Boats"),
    ]


def test_an_empty_text_has_no_items():
    assert list(items("")) == []
    assert list(items(uncommented("# Only a title\n\n<!-- open to the end"))) == []


def test_what_is_indented_begins_no_item_and_no_fence():
    assert [item.text for item in items("- one\n  - two\n  ```\n- three")] == [
        "one\n- two\n```",
        "three",
    ]


def test_a_fence_that_is_never_closed_hides_nothing_when_fences_do_not_count():
    assert [item.text for item in items("```\n- one\n- two", fences=False)] == ["```", "one", "two"]
