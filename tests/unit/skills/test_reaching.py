import pytest
from tests.unit.skills.reviewing import function, messages, reviewed


@pytest.mark.parametrize(
    "line",
    [
        "eval(text)",
        "e = eval",
        "exec(text)",
        "compile(text, '', 'exec')",
        "__import__('os')",
        "globals()['x']",
        "locals()",
        "vars(text)",
        "breakpoint()",
        "input()",
        "__builtins__",
        "__loader__",
        "getattr(text, text)",
        "getattr(text, '__class__')",
        "getattr(text, 'o' + 's')",
        "setattr(text, name, 1)",
        "getattr(*[text, 'x'])",
        "text.__class__",
        "text.__dict__",
        "().__class__.__base__.__subclasses__()",
        "work.__globals__",
        "(x for x in []).gi_frame",
        "json.codecs.builtins",
        "random._os.system('id')",
        "asyncio.create_subprocess_shell('id')",
        "typing.sys.modules",
        "operator.attrgetter('__class__')(text)",
        "open('/etc/passwd')",
        "open('/proc/self/environ')",
        "open(b'/etc/passwd')",
        "open('/home/ada/.ssh/id_rsa')",
        "open('/root')",
        "open('/workspace/../etc/passwd')",
        "open('//etc//passwd')",
        "open('/var/run/docker.sock')",
        "open(f'/etc/{text}')",
        "Path('~/secrets')",
        "x = 'file:///etc/passwd'",
        "'{0.__class__}'.format(text)",
        "'{x[__globals__]}'.format(x=text)",
        "global eval; eval = 1; eval(1)",
        "from pathlib import os",
        "from json import codecs",
        "json.dumps = str",
        "del json.dumps",
        "random.seed: int = 1",
        "setattr(json, 'dumps', str)",
        "asyncio.base_events.concurrent.futures",
    ],
)
def test_reaching_out_is_found_on_its_line(line):
    found = reviewed(
        function(f"pass\n{line}\nreturn text", head="import json, random, asyncio, typing")
    )
    assert any(one.line == 5 for one in found.errors), messages(found)


def test_a_field_of_another_class_in_a_pattern_is_reaching_too():
    source = function("match text:\n    case str(__class__=c):\n        return c\nreturn text")
    assert "__class__" in messages(reviewed(source))


def test_a_name_that_only_the_module_binds_may_still_be_the_built_in():
    assert "eval" in messages(reviewed(function("return eval(text)", head="eval = None")))


def test_a_name_that_the_function_binds_anywhere_is_its_own():
    body = "rows = [(vars := word) for word in text.split()]\nreturn str(vars(rows))"
    assert not reviewed(function(body)).errors


def test_a_name_that_only_a_comprehension_binds_is_the_built_in_outside_of_it():
    body = "rows = [vars for vars in text]\nreturn str(vars(rows))"
    assert "vars" in messages(reviewed(function(body)))


def test_wide_letters_do_not_hide_a_name():
    assert "eval" in messages(reviewed(function("return \uff45\uff56\uff41\uff4c(text)")))


def test_fields_of_own_objects_and_options_deep_in_a_module_may_be_set():
    body = "settings = Box()\nsettings.x = 1\njson.options.mode.x = 1\nreturn text"
    head = "import json\nclass Box:\n    x: int = 0\n"
    assert not reviewed(function(body, head=head)).errors
