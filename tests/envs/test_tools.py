"""Tool calls: what a message means, and what is said about one that means nothing."""

import contextlib
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from execgym.envs.tools import ToolCall, ToolCallError, parse_action, tool, tools_of


class Desk:
    @tool
    async def answer(self, text: str, times: int = 1, loud: bool = False, share: float = 0.5):
        """Give the answer.

        It has a second paragraph that models do not see.

        Args:
            text: What to say,
                over two lines.
            times: How often.
            loud: Whether to shout.
            share: How much.
        """

    @tool
    async def look(self):
        """Look around."""

    async def hidden(self):
        """No tool."""


class Extended(Desk):
    @tool
    async def look(self, where: str):
        """Look somewhere.

        Args:
            where: The place.
        """


TOOLS = tools_of(Desk)


def read(text):
    return parse_action(text, TOOLS, "answer")


def call(name, **arguments):
    return json.dumps({"name": name, "arguments": arguments})


def test_tools_come_in_order_of_definition_with_their_schemas():
    assert list(TOOLS) == ["answer", "look"]
    function = TOOLS["answer"].as_function()
    assert function["type"] == "function"
    assert function["function"]["description"] == "Give the answer."
    parameters = function["function"]["parameters"]
    assert parameters["required"] == ["text"]
    assert parameters["additionalProperties"] is False
    assert parameters["properties"]["text"] == {
        "type": "string",
        "description": "What to say, over two lines.",
    }
    assert [schema["type"] for schema in parameters["properties"].values()] == [
        "string",
        "integer",
        "boolean",
        "number",
    ]


def test_a_schema_is_new_each_time():
    TOOLS["answer"].as_function()["function"]["parameters"]["required"].clear()
    assert TOOLS["answer"].as_function()["function"]["parameters"]["required"] == ["text"]


def test_a_subclass_replaces_a_tool():
    assert tools_of(Extended)["look"].parameters["required"] == ["where"]
    assert tools_of(Desk)["look"].parameters["required"] == []


def test_a_tool_without_annotation_or_documentation_is_refused():
    class NoType:
        @tool
        async def act(self, thing):
            """Act.

            Args:
                thing: What.
            """

    class NoMeaning:
        @tool
        async def act(self, thing: str):
            """Act."""

    for owner in (NoType, NoMeaning):
        with pytest.raises(TypeError, match="tool act: parameter 'thing'"):
            tools_of(owner)


@pytest.mark.parametrize(
    "text",
    [
        call("answer", text="a", times=2),
        f"  {call('answer', text='a', times=2)}\n",
        f"I will answer.\n```json\n{call('answer', text='a', times=2)}\n```\nDone.",
        f"~~~\n{call('answer', text='a', times=2)}\n~~~",
        f"```\n{call('look')}\n```\n```\n{call('answer', text='a', times=2)}\n```",
        f"```json\n{call('answer', text='a', times=2)}",
        json.dumps({"name": "answer", "arguments": json.dumps({"text": "a", "times": 2})}),
    ],
)
def test_a_call_is_read(text):
    assert read(text) == ToolCall(name="answer", arguments={"text": "a", "times": 2})


def test_a_call_without_arguments_is_read():
    assert read('{"name": "look"}') == ToolCall(name="look", arguments={})


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("SELECT 1", "SELECT 1"),
        ("", ""),
        ("First\n```sql\nSELECT 1\n```", "SELECT 1\n"),
        ("```\na\n```\n```\nb\n```\nend", "b\n"),
        ("````\n```\na\n```\n````", "```\na\n```\n"),
        ("```\na\n~~~\nb\n```", "a\n~~~\nb\n"),
        ("  ```python\n  a\n  ```", "  a\n"),
        ("```sql\nSELECT 1", "SELECT 1\n"),
        ("```\na\n`````", "a\n"),
        ("a ``` b\nc", "a ``` b\nc"),
        ("{'a': 1}", "{'a': 1}"),
        ('{"query": 1}', '{"query": 1}'),
        ("{x for x in y}", "{x for x in y}"),
        ("[1]", "[1]"),
    ],
)
def test_anything_else_goes_to_the_default_tool(text, body):
    assert read(text) == ToolCall(name="answer", arguments={"text": body})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (call("nothing"), "there is no tool 'nothing'; the tools are answer, look"),
        ('{"name": 1}', "there is no tool 1"),
        ('{"name": ["answer"]}', "there is no tool"),
        (call("answer"), "needs the argument 'text'"),
        (call("answer", text="a", tone="b"), "has no argument 'tone'; its arguments are text"),
        (call("look", tone="b"), "its arguments are none"),
        (call("answer", text=1), "'text' of answer must be of type string"),
        (call("answer", text=None), "must be of type string"),
        (call("answer", text="a", times=1.5), "must be of type integer"),
        (call("answer", text="a", times=True), "must be of type integer"),
        (call("answer", text="a", times=2**63), "must be of type integer"),
        (call("answer", text="a", loud=1), "must be of type boolean"),
        (call("answer", text="a", share=float("nan")), "must be of type number"),
        (call("answer", text="a", share=float("inf")), "must be of type number"),
        ('{"name": "answer", "arguments": [1]}', "must be a JSON object"),
        ('{"name": "answer", "arguments": "{"}', "arguments of answer are not valid JSON"),
        ('{"name": "look", "id": 3}', "not 'id'"),
        ('{"name": "answer", "arguments": {"text": "a"}', "not valid JSON"),
        ('{"name": "look", "name": "answer"}', "a key stands twice"),
        ('{"name": "answer", "arguments": {"text": "\\ud800"}}', "lone surrogate at position 0"),
    ],
)
def test_a_malformed_call_says_what_is_wrong(text, says):
    text = text if text.endswith("}") else text + "}"
    with pytest.raises(ToolCallError) as caught:
        read(text)
    assert says in str(caught.value)


def test_the_error_is_short_whatever_the_message():
    with pytest.raises(ToolCallError) as caught:
        read(call("x" * 50_000))
    assert len(str(caught.value)) < 300


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
CALLISH = st.fixed_dictionaries(
    {"name": st.sampled_from(["answer", "look", "no"]) | JSON},
    optional={
        "arguments": st.dictionaries(st.sampled_from(["text", "times", "loud"]), JSON) | JSON,
        "id": JSON,
    },
)
FENCES = st.lists(
    st.sampled_from(["```", "~~~", "````", "```json", "\n", " ", '{"name": "look"}', "x", "`"])
).map("".join)


@given(st.text() | JSON.map(json.dumps) | CALLISH.map(json.dumps) | FENCES)
@example("[" * 100_000)
@example('{"name":' + "[" * 100_000 + "}")
@example('{"name": ' + "9" * 50_000 + "}")
@example('{"name": "answer", "arguments": "' + "[" * 50_000 + '"}')
def test_no_message_raises_anything_but_a_tool_call_error(text):
    try:
        found = read(text)
    except ToolCallError:
        return
    assert found.name in TOOLS
    assert set(found.arguments) <= set(TOOLS[found.name].parameters["properties"])


@pytest.mark.parametrize(
    "text",
    [
        "```" + " " * 100_000 + "`",
        "~~~a\n" * 25_000,
        "```a\n" * 25_000,
        "`" * 100_000,
        " \t" * 50_000 + "`",
        "```\n" * 25_000,
        "{" * 50_000 + "}" * 50_000,
        '{"name"' + " " * 90_000 + "}",
    ],
)
@pytest.mark.timeout(60)
def test_no_message_takes_long_to_read(text):
    # A regular expression over the whole text takes hours for some of these.
    with contextlib.suppress(ToolCallError):
        read(text)
