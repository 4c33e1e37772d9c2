"""Words that define or import in languages where that is a call, or a list, like any other."""

from __future__ import annotations

import re

__all__ = ["DEFINING", "IMPORTING"]


def _kinds(**words: str) -> dict[bytes, str]:
    return {word.encode(): kind.rstrip("_") for kind, several in words.items() for word in several.split()}


# table → first word → kind of what is defined
DEFINING: dict[str, dict[bytes, str]] = {
    "test": _kinds(test="describe it test suite context specify bench fdescribe fit xit xdescribe"),
    "gtest": _kinds(test="TEST TEST_F TEST_P TYPED_TEST TYPED_TEST_P"),
    "elixir": _kinds(
        function="def defp defdelegate defguard defguardp defn defnp",
        macro="defmacro defmacrop",
        module="defmodule",
        interface="defprotocol",
        impl="defimpl",
        struct="defstruct defexception",
        test="test describe property",
    ),
    "elixir_attribute": _kinds(type="@type @typep @opaque type typep opaque", method="callback macrocallback"),
    "clojure": _kinds(
        function="defn defn- defmulti defmethod deftask",
        macro="defmacro",
        variable="def defonce declare",
        module="ns",
        interface="defprotocol definterface",
        record="defrecord",
        class_="deftype",
        test="deftest testing",
    ),
    "ruby": _kinds(
        property="attr_accessor attr_reader attr_writer mattr_accessor cattr_accessor class_attribute"
        " thread_mattr_accessor",
        method="define_method delegate scope",
        field="belongs_to has_many has_one has_and_belongs_to_many",
        test="describe RSpec.describe context it specify test should feature scenario",
    ),
    "r": _kinds(class_="setClass setRefClass R6Class", function="setGeneric setMethod"),
    "cmake": _kinds(
        function="function macro", target="add_executable add_library add_custom_target", variable="option"
    ),
}
# The front of a call that imports, perhaps after `local x =` or `const { a, b } =`.
IMPORTING = re.compile(
    rb"(?:[^=;()]{1,400}=\s*)?"
    rb"(?:@|\(:)?(?:require|require_relative|autoload|load|alias|import|use|library|source|requireNamespace|include|\.)(?=[\s(\"'])"
)
