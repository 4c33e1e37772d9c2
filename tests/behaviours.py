"""What llmc promises, and the tests for it: numbered promises (R: under load and faults, S: against attacks), and the
folders that test everything else. A promise without a test is a gap, listed with its reason.

A test is named `file::function`; `file` alone means all its tests. `test_behaviours` compares this page with the tests
that exist.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["GAPS", "PARTS", "PROMISES", "Promise"]


class Promise(NamedTuple):
    says: str
    tests: tuple[str, ...]


PROMISES: dict[str, Promise] = {
    "R1": Promise(
        "a query sees every file operation that ended before it began, or says what is pending",
        (
            "test_freshness::test_a_query_sees_every_operation_that_ended_before_it",
            "test_freshness::test_search_sees_a_save_that_ended_before_it",
            "test_freshness::test_a_save_is_seen_while_the_writer_thread_is_busy",
            "test_freshness::test_a_save_is_seen_although_the_watcher_is_behind",
            "test_first_minute",
            "test_grep_ripgrep::test_a_file_that_changed_a_moment_ago_is_searched_as_it_is",
            "test_reply_cache::test_whatever_is_changed_the_reply_is_that_of_the_files_as_they_are",
            "test_watch_random::test_random_operations_leave_nothing_missing_and_nothing_stale",
        ),
    ),
    "R2": Promise(
        "the index equals the disk in the end",
        (
            "test_freshness::test_a_branch_switch_is_seen_and_costs_no_second_parse_of_what_comes_back",
            "test_watch_random::test_operations_that_race_with_the_watcher_are_all_seen_in_the_end",
            "test_watch_folders::test_branch_switches_leave_no_difference",
        ),
    ),
    "R3": Promise(
        "kill -9 loses and doubles nothing",
        (
            "test_freshness::test_kills_while_indexing_lose_and_double_nothing",
            "test_faults::test_a_batch_that_is_killed_at_any_step_happens_wholly_or_not_at_all",
            "test_concurrent_processes::test_a_killed_writer_leaves_no_lock_behind",
            "test_daemon_life::test_after_kill_9_the_next_client_starts_another",
            "test_pool::test_a_pool_ends_with_the_process_that_has_it",
        ),
    ),
    "R4": Promise(
        "the keyword store, the vector store and the catalog agree",
        (
            "test_store_model",
            "test_faults::test_a_sweep_that_is_killed_is_finished_by_the_next_writer",
            "test_faults::test_a_repair_that_is_killed_is_repaired",
            "test_faults::test_optimizing_that_is_killed_loses_no_vector",
            "test_concurrent_processes::test_readers_see_whole_batches_while_another_process_writes",
        ),
    ),
    "R5": Promise(
        "lost events are noticed, said, and healed by a walk",
        (
            "test_watch_trouble::test_overflow_is_reported_and_healed_by_a_walk",
            "test_watch_trouble::test_watches_that_run_out_later_lose_no_change",
            "test_watch_trouble::test_a_root_that_is_deleted_and_made_again_is_walked",
            "test_freshness::test_a_root_that_is_deleted_and_made_again_is_indexed_again",
        ),
    ),
    "R6": Promise(
        "a corrupt index is never served",
        (
            "test_damage::test_a_damaged_file_is_noticed_at_opening_or_does_no_harm",
            "test_damage::test_a_file_damaged_under_a_reader_is_noticed_or_does_no_harm",
            "test_stored_vectors::test_a_lost_vector_table_costs_the_vectors_only_and_is_made_again",
            "test_vectors::test_a_table_of_another_model_is_never_searched",
            "test_vectors_end_to_end::test_a_deleted_table_is_noticed_reported_and_made_again",
            "test_formats::test_an_index_of_an_older_format_is_never_served",
            "test_formats::test_an_index_of_an_older_format_is_rebuilt_with_a_message",
        ),
    ),
    "R7": Promise(
        "a full disk degrades to read-only and heals by itself",
        (
            "test_faults::test_a_full_disk_undoes_the_batch_and_the_next_one_works",
            "test_faults::test_a_limit_on_file_sizes_is_a_full_disk_and_heals",
            "test_faults::test_a_writer_can_close_on_a_full_disk_and_nothing_is_lost",
        ),
    ),
    "R8": Promise(
        "one writer: a second says who holds the lock and goes",
        (
            "test_daemon_life::test_a_second_daemon_names_the_running_one_and_exits",
            "test_daemon_life::test_twenty_clients_at_once_start_one_daemon_and_get_twenty_answers",
            "test_batches::test_a_second_writer_learns_which_process_is_writing",
        ),
    ),
    "R9": Promise(
        "odd files never hang, crash or bloat it",
        (
            "test_scan::test_large_and_special_files_are_skipped_and_named",
            "test_scan::test_odd_names_are_found_as_the_disk_has_them",
            "test_scan::test_two_hundred_levels_are_walked_and_more_than_the_limit_are_not",
            "test_scan::test_fifty_thousand_tiny_files_are_found",
            "test_root_fs::test_fifo_socket_device_and_folder_are_refused_at_once",
            "test_chunk_hostile",
            "test_text",
        ),
    ),
    "R10": Promise(
        "many clients at once, every reply belongs to its request",
        (
            "test_daemon_transport::test_64_clients_with_100_calls_each_all_get_their_own_answers",
            "test_daemon_transport::test_a_client_that_does_not_read_does_not_delay_others",
            "test_http_mcp::test_many_clients_at_once_get_their_own_answers",
        ),
    ),
    "S1": Promise(
        "no byte from outside the roots",
        (
            "test_root_fs::test_a_path_that_leads_out_is_refused_before_it_is_opened",
            "test_root_fs::test_no_link_leads_out_even_when_it_is_to_be_followed",
            "test_root_fs::test_a_path_that_is_swapped_while_it_is_read_leaks_nothing",
            "test_root_fs::test_a_typed_path_outside_looks_the_same_whether_it_exists_or_not",
            "test_scan::test_a_folder_that_becomes_a_link_during_a_walk_is_not_entered",
        ),
    ),
    "S2": Promise(
        "a pattern cannot stall it",
        ("test_ignore::test_globs_made_to_stall_do_not", "test_grep_ripgrep"),
    ),
    "S3": Promise(
        "secrets do not leave, by whatever way out",
        (
            "test_redact",
            "test_redact_envelopes",
            "test_redact_cli",
            "test_secrets_out",
            "test_denylist",
            "test_shell::test_secrets_and_hidden_characters_do_not_leave",
            "test_page::test_secrets_do_not_leave_by_the_page",
            "test_ledger::test_no_question_path_or_secret_is_kept",
            "test_personas::test_primed_context_is_redacted_and_cannot_pass_for_llmc_text",
        ),
    ),
    "S4": Promise(
        "a handle is not a key",
        (
            "test_handles::test_foreign_unknown_and_expired_look_the_same",
            "test_http::test_two_clients_cannot_open_each_others_handles",
            "test_http_mcp::test_a_session_does_not_open_the_handles_of_another",
        ),
    ),
    "S5": Promise("the cache cannot run code", ("test_handles::test_a_damaged_entry_gives_no_result",)),
    "S6": Promise("persona scripts are contained", ("test_personas_lua",)),
    "S7": Promise("HTTP is closed to strangers", ("test_http_access", "test_page_access")),
    "S8": Promise("the shell tool stays inside its policy", ("test_shell", "test_shell_policy")),
    "S9": Promise(
        "downstream MCP servers cannot attack",
        (
            "test_delegates_hostile",
            "test_delegates::test_a_model_calls_only_what_it_was_given",
            "test_delegates::test_a_server_gets_the_variables_that_its_entry_names_and_few_others",
            "test_delegates::test_a_secret_never_reaches_the_model_nor_the_log_nor_the_steps",
        ),
    ),
    "S10": Promise(
        "outbound HTTP goes only where it is configured to go",
        (
            "test_embed_endpoint::test_a_redirect_is_not_followed",
            "test_embed_endpoint::test_an_endless_reply_is_cut_off",
            "test_outbound_deadline",
            "test_research_web",
        ),
    ),
    "S11": Promise(
        "artifacts stay in their folder",
        (
            "test_research_artifacts::test_a_name_that_leads_out_is_refused",
            "test_research_artifacts::test_links_in_the_artifact_folder_are_not_followed",
        ),
    ),
    "S12": Promise(
        "file content is data: what is hidden is shown, and no reply can be forged",
        (
            "test_visible",
            "test_redact_envelopes::test_a_name_with_a_line_feed_cannot_forge_a_line",
            "test_page::test_content_names_and_queries_stay_text",
        ),
    ),
    "S13": Promise(
        "a repository cannot make us run code",
        (
            "test_roots::test_a_hostile_git_file_makes_no_family_and_no_harm",
            "test_workspace_trust::test_a_clone_sets_no_program_endpoint_or_secret",
            "test_personas::test_a_stranger_may_bring_a_prompt_and_no_script",
            "test_personas_python::test_a_checkout_cannot_register_a_persona",
            "test_ignore::test_what_a_hostile_ignore_file_loses_is_reported_and_the_rest_counts",
        ),
    ),
}

# Promises without a test, with the reason. A row is removed once there is a test.
GAPS: dict[str, str] = {}

# Everything else that users rely on, by test folder. Folders are named after the packages of llmc.
PARTS: dict[str, str] = {
    "answers": "research and ask: whole questions answered with references",
    "base": "files, roots, ignore rules, text and languages",
    "bench": "benchmarks and the figures of the README",
    "cli": "every command",
    "client": "the thin client and the stdio relay",
    "embed": "text becomes a vector",
    "envelope": "replies that fit a budget, without secrets; handles; logs",
    "extend": "personas, delegates, tools written in Lua, shell, pruner",
    "graph": "callers, callees, implementations, tests",
    "indexer": "a changed file becomes searchable",
    "install": "entries in the settings of MCP clients",
    "publish": "commits in a shared index, and every tool over them",
    "retrieval": "search, grep, find, history",
    "server": "daemon, MCP, HTTP, page",
    "settings": "layers, origins, messages",
    "state": "sessions and the ledger",
    "store": "catalog, keywords, vectors, integrity",
    "tools": "each tool, and the call that runs it",
}
