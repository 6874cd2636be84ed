"""Which route a request has taken."""

from types import SimpleNamespace

import pytest

from long_running_agents.observe.metrics import UNKNOWN, plain_paths, route_of

PLAIN = plain_paths(
    [
        SimpleNamespace(path="/openapi.json"),
        SimpleNamespace(path="/mcp"),
        SimpleNamespace(path="/things/{id}"),
        SimpleNamespace(path=""),
        object(),
    ]
)


def test_only_paths_without_parameters_stand_for_themselves():
    assert {"/openapi.json", "/mcp"} == PLAIN


@pytest.mark.parametrize(
    ("scope", "route"),
    [
        ({"path": "/things/7", "route": SimpleNamespace(path="/things/{id}")}, "/things/{id}"),
        ({"path": "/openapi.json"}, "/openapi.json"),
        ({"path": "/mcp/anything", "root_path": "/mcp"}, "/mcp"),
        ({"path": "/anything", "root_path": ""}, UNKNOWN),
        ({"path": "/anything", "root_path": "/elsewhere"}, UNKNOWN),
        ({"path": "/things/7", "route": object()}, UNKNOWN),
    ],
)
def test_a_route_is_named_by_its_template(scope, route):
    assert route_of(scope, PLAIN) == route
