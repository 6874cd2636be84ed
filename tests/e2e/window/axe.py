"""What keeps somebody from using a page, as axe finds it."""

from tests.docs.markdown import ROOT

SOURCE = ROOT / "ui/node_modules/axe-core/axe.min.js"
RUN = "axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => violations)"


def violations(page):
    """What is wrong with a page as it is shown now, in words."""
    # In a world of its own, where the policy of the page does not count.
    page.evaluate(SOURCE.read_text(encoding="utf-8"))
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
        for each in page.evaluate(RUN)
        for node in each["nodes"]
    ]
