"""The tools, in the order in which a client lists them."""

from evals_app.library.shipping import DECIDING
from evals_app.mcp import (
    acting,
    answers,
    authored,
    conversations,
    daily_imports,
    results,
    sent_spans,
)
from evals_app.mcp.tool import Operation
from evals_app.reports.answers.forecasts import ForecastAnswer
from evals_app.reports.answers.release import ReleaseJson, ShipDecisionJson
from evals_app.reports.answers.run_answers import ReviewJson
from evals_app.requests.bodies import StartRun
from evals_app.requests.conversation_sets import ConversationImportAnswer, GradingForecast
from evals_app.requests.permissions import Need, Scope
from evals_app.requests.throttles import CheckTrials, Uploads
from evals_app.runs.ground.rights import RUNNING
from evals_app.runs.reviews.reviewing import REVIEWING

_SUITES = Need(Scope.READ, "evals_app.view_suite")
_AGENTS = Need(Scope.READ, "evals_app.view_agent")
_FIXTURES = Need(Scope.READ, "fixtures_app.view_fixture")
_RUNS = Need(Scope.READ, "evals_app.view_run")
_RUN = Need(Scope.RUN, *RUNNING)
_SETS = Need(Scope.READ, "evals_app.view_conversationset")
_ANYONE = Need(Scope.READ)
_AUTHORS = Need(Scope.AUTHOR)  # what files may contain is checked when they are read

INSTRUCTIONS = """\
Evalwell evaluates LLM agents. A suite has cases; a case is a conversation with an agent; checks \
grade its replies. A run runs each case of a suite, once or in several trials; each trial is a conversation, which REST and arguments call `execution`.
To write: look up check types with list_checks and describe_check and the keys of files with \
read_guide (page: files), write YAML files in the project, call check_files until there are no \
errors, then write_files. To run: forecast_run, start_run with a cost limit, read_run until it has ended, \
why_failed for each failure. Fix what was wrong, write again, run again, compare_runs. \
A failing case may show that the agent is wrong: never weaken a check only to make it pass."""

_SUITE_FILE = """\
suite: Refunds
slug: refunds
agent: shop
cases:
  - name: Asks for a refund
    turns:
      - user: I want my money back.
        assertions: [{type: contains, value: refund}]
"""
_FILES = {"files": [{"path": "evals/refunds.suite.yaml", "content": _SUITE_FILE}]}

_TABLE = (
    Operation(
        "list_suites",
        "List suites",
        "List the suites: slug, name, agent, tags, and how the last full run of each ended.",
        authored.Search,
        {"text": "refund"},
        _SUITES,
        authored.list_suites,
        answers.SuitesData,
    ),
    Operation(
        "list_agents",
        "List agents",
        "List the agents that can be tested: slug, name, driver and model.",
        authored.Search,
        {},
        _AGENTS,
        authored.list_agents,
        answers.AgentsData,
    ),
    Operation(
        "list_fixtures",
        "List test data",
        "List the sets of test data, which the tools of agents read and change.",
        authored.Search,
        {},
        _FIXTURES,
        authored.list_fixtures,
        answers.FixturesData,
    ),
    Operation(
        "list_runs",
        "List runs",
        "List runs, newest first: suite, agent, verdict and how many conversations passed and failed.",
        results.FindRuns,
        {"suite": "refunds", "verdict": "failed"},
        _RUNS,
        results.list_runs,
        answers.RunsData,
    ),
    Operation(
        "list_checks",
        "List check types",
        "List the types of checks and what each verifies. describe_check has their options.",
        authored.CheckTypes,
        {"text": "json"},
        _ANYONE,
        authored.list_checks,
    ),
    Operation(
        "describe_check",
        "Describe a check type",
        "Read when checks of a type pass, how they are scored, their options, and an example in YAML.",
        authored.OneCheckType,
        {"type": "contains"},
        _ANYONE,
        authored.describe_check,
    ),
    Operation(
        "read_guide",
        "Read the guide",
        "Read a page of the guide; without page, list the pages. files has the keys of every kind of"
        " file, assertions has all checks, own-agents explains how your own agent is called.",
        authored.ReadGuide,
        {"page": "files"},
        _ANYONE,
        authored.read_guide,
    ),
    Operation(
        "read_suite",
        "Read a suite",
        "Read a suite with its cases and checks, as the YAML file that people write.",
        authored.OneSlug,
        {"slug": "refunds"},
        _SUITES,
        authored.read_suite,
    ),
    Operation(
        "read_agent",
        "Read an agent",
        "Read an agent with its prompt, tools and rules, as the YAML file that people write.",
        authored.OneSlug,
        {"slug": "shop"},
        _AGENTS,
        authored.read_agent,
    ),
    Operation(
        "read_fixture",
        "Read test data",
        "Read a set of test data, as the YAML file that people write.",
        authored.OneSlug,
        {"slug": "shop"},
        Need(Scope.READ, "fixtures_app.view_fixture", "fixtures_app.view_entitytype"),
        authored.read_fixture,
    ),
    Operation(
        "check_files",
        "Check files",
        "Check files of suites, agents, test data and providers without writing anything. Every error"
        " is reported with file, line and the nearest valid name; without errors, it reports what"
        " would change, and a version to pass to write_files.",
        authored.Files,
        _FILES,
        _AUTHORS,
        authored.check_files,
        answers.FilesData,
        rate=Uploads,
    ),
    Operation(
        "write_files",
        "Write files",
        "Import files of suites, agents, test data and providers: all of them, or none if any has an error."
        " A suite is replaced as a whole: cases that its file does not have are deleted. Call"
        " check_files first.",
        authored.FilesToWrite,
        _FILES,
        _AUTHORS,
        authored.write_files,
        answers.FilesData,
        is_read_only=False,
        is_destructive=True,
        is_idempotent=True,
        rate=Uploads,
    ),
    Operation(
        "try_check",
        "Try a check",
        "Grade one check on a reply at once, without a run; nothing is stored. Checks that need a"
        " model or your own code cannot be tried. With `execution`, the check sees that conversation.",
        authored.OneCheck,
        {"check": {"type": "contains", "value": "refund"}, "reply": "Your refund is on its way."},
        _AUTHORS,
        authored.try_check,
        answers.TriedCheckData,
        rate=CheckTrials,
    ),
    Operation(
        "forecast_run",
        "Forecast a run",
        "Estimate how many conversations and model calls a run takes, how long and how much it costs."
        " Starts nothing.",
        StartRun,
        {"suite": "refunds"},
        _RUNS,
        results.forecast_run,
        ForecastAnswer,
    ),
    Operation(
        "start_run",
        "Start a run",
        "Start a run of a suite, or of some of its cases or tags, with the suite's agent or another"
        " one. It stops before it would cost more than max_cost_usd.",
        results.StartLimitedRun,
        {"suite": "refunds", "cases": ["Asks for a refund"], "max_cost_usd": 0.5},
        _RUN,
        results.start_run,
        answers.StartedData,
        is_read_only=False,
    ),
    Operation(
        "read_run",
        "Read a run",
        "Read how a run went, or its progress so far: verdict, numbers, gates, and the conversations that"
        " failed or errored. With wait_s, wait for its end first.",
        results.RunQuery,
        {"run": 12, "wait_s": 20},
        _RUNS,
        results.read_run,
        answers.RunWithConversations,
    ),
    Operation(
        "why_failed",
        "Read why a conversation failed",
        "Read one conversation: each check with its reason, what failed first, then what was said, with"
        " its tool calls and what changed in the world.",
        results.ExecutionQuery,
        {"run": 12, "case": "Asks for a refund"},
        Need(Scope.READ, "evals_app.view_run", "evals_app.view_execution"),
        results.why_failed,
        answers.WhyData,
    ),
    Operation(
        "compare_runs",
        "Compare runs",
        "Compare a run with an earlier one: which cases got worse or better, whether that is more than"
        " chance, and what differs in how they were started.",
        results.TwoRuns,
        {"base": 11, "head": 12},
        _RUNS,
        results.compare_runs,
        answers.ComparedData,
    ),
    Operation(
        "may_we_ship",
        "May we ship?",
        "Answer Yes, No or Not yet about a suite, with the reasons: what got worse since the released"
        " version, gates that are missed, what was not graded, whether the judge is trusted.",
        results.ReleasedSuite,
        {"suite": "refunds"},
        _RUNS,
        results.may_we_ship,
        ReleaseJson,
    ),
    Operation(
        "cancel_run",
        "Cancel a run",
        "Stop a run. Results that it already has are kept.",
        results.JustRun,
        {"run": 12},
        _RUN,
        acting.cancel_run,
        answers.RunData,
        is_read_only=False,
        is_destructive=True,
        is_idempotent=True,
    ),
    Operation(
        "resume_run",
        "Resume a run",
        "Resume a run that was stopped by its cost limit, its time limit or a cancellation. Results"
        " are kept. max_cost_usd is the new limit of the whole run; left out, it stays as it is.",
        acting.ResumeRun,
        {"run": 12, "max_cost_usd": 1},
        _RUN,
        acting.resume_run,
        answers.RunData,
        is_read_only=False,
    ),
    Operation(
        "rerun_cases",
        "Run failed cases again",
        "Run the failed cases of a run again in a new run, as they are now or as they were; `only`"
        " and `cases` choose others.",
        acting.RerunOfRun,
        {"run": 12, "only": "failed", "max_cost_usd": 0.5},
        _RUN,
        acting.rerun_cases,
        answers.StartedData,
        is_read_only=False,
    ),
    Operation(
        "regrade_run",
        "Grade a run again",
        "Grade the stored conversations of a run again in a new run, with the checks of today:"
        " no agent is asked, only judges.",
        acting.RegradeOfRun,
        {"run": 12, "max_cost_usd": 0.5},
        _RUN,
        acting.regrade_run,
        answers.StartedData,
        is_read_only=False,
    ),
    Operation(
        "list_conversation_sets",
        "List sets of real conversations",
        "List the sets of conversations that really happened, with how many each has.",
        conversations.AllSets,
        {},
        _SETS,
        conversations.list_sets,
        conversations.SetsData,
    ),
    Operation(
        "list_real_conversations",
        "List real conversations",
        "List the conversations of a set, the last imported first: id, day, topics, and the number of the"
        " conversation for other tools.",
        conversations.FindConversations,
        {"set": "help-desk", "topic": "price"},
        Need(Scope.READ, "evals_app.view_conversationset", "evals_app.view_execution"),
        conversations.list_conversations,
        conversations.ConversationsData,
    ),
    Operation(
        "import_conversations",
        "Import real conversations",
        "Import the content of a file into a set, which is made if there is none of this name. Names,"
        " addresses and numbers are masked. Each conversation is imported once.",
        conversations.ImportText,
        {
            "set": "Help desk",
            "file_name": "week.txt",
            "content": "Customer: Why 9 euros?\nAgent: It is 6.90.",
        },
        Need(Scope.AUTHOR, "evals_app.add_conversationset"),
        conversations.import_text,
        ConversationImportAnswer,
        is_read_only=False,
        is_idempotent=True,
        rate=Uploads,
    ),
    Operation(
        "copy_conversations",
        "Copy conversations of runs",
        "Copy conversations of a run, all or those with one verdict, or some of several runs, into a set of"
        " real conversations, to be read, grouped and graded by other suites. Each is copied once, and"
        " masked; the run stays as it is.",
        conversations.CopyIntoSet,
        {"set": "Help desk", "run": 12, "verdict": "failed"},
        Need(
            Scope.AUTHOR,
            "evals_app.add_conversationset",
            "evals_app.view_run",
            "evals_app.view_execution",
        ),
        conversations.copy_into_set,
        ConversationImportAnswer,
        is_read_only=False,
        is_idempotent=True,
    ),
    Operation(
        "forecast_grading",
        "Forecast grading real conversations",
        "Estimate what grading conversations of a set costs, and read which checks of the suite apply."
        " Starts nothing.",
        conversations.GradeOfSet,
        {"set": "help-desk", "suite": "refunds", "count": 100, "max_cost_usd": 0.5},
        Need(Scope.RUN, *RUNNING, "evals_app.view_conversationset"),
        conversations.forecast_grading,
        GradingForecast,
    ),
    Operation(
        "grade_conversations",
        "Grade real conversations",
        "Grade a sample of a set by the general checks of a suite. No agent is asked, only judges. Call"
        " forecast_grading first.",
        conversations.GradeOfSet,
        {"set": "help-desk", "suite": "refunds", "count": 100, "max_cost_usd": 0.5},
        Need(Scope.RUN, *RUNNING, "evals_app.view_conversationset"),
        conversations.grade_conversations,
        conversations.GradingData,
        is_read_only=False,
    ),
    Operation(
        "read_daily_import",
        "Read a daily import",
        "Read where new conversations of a set come from every day, when, by what they are graded, and"
        " what the last five times brought, with problems.",
        daily_imports.SetOfDailyImport,
        {"set": "help-desk"},
        _SETS,
        daily_imports.read_daily_import,
        daily_imports.DailyImportData,
    ),
    Operation(
        "set_daily_import",
        "Import every day",
        "Import new files of a folder or an address into a set every day, and grade a sample of what is"
        " new by a suite, with what agents sent; a set that takes that needs neither."
        " Replaces the daily import of the set as a whole; is_enabled: false pauses it."
        " It runs in the name of the person whose token this is: ask them first.",
        daily_imports.DailyImportOfSet,
        {"set": "help-desk", "url": "https://helpdesk.example.org/export.csv", "at": "03:00"},
        Need(Scope.AUTHOR, "evals_app.add_conversationset"),
        daily_imports.set_daily_import,
        daily_imports.DailyImportData,
        is_read_only=False,
        is_destructive=True,
        is_idempotent=True,
    ),
    Operation(
        "stop_daily_import",
        "Stop a daily import",
        "Remove the daily import of a set and the results of its times. Conversations and runs stay.",
        daily_imports.SetOfDailyImport,
        {"set": "help-desk"},
        Need(Scope.AUTHOR, "evals_app.add_conversationset"),
        daily_imports.stop_daily_import,
        daily_imports.DailyImportData,
        is_read_only=False,
        is_destructive=True,
        is_idempotent=True,
    ),
    Operation(
        "read_sent_spans",
        "Read what agents send",
        "Read whether a set takes the spans that instrumented agents send with OpenTelemetry, the address"
        " to send to, how much waits, and what was left out.",
        sent_spans.SetOfAgents,
        {"set": "help-desk"},
        _SETS,
        sent_spans.read_sent_spans,
        sent_spans.SentSpansData,
    ),
    Operation(
        "take_sent_spans",
        "Take what agents send",
        "Let a set take the spans of agents that work for customers: each conversation is imported, masked,"
        " once it is quiet. is_open: false stops it, and imports what waits.",
        sent_spans.SpansOfSet,
        {"set": "help-desk"},
        Need(Scope.AUTHOR, "evals_app.add_conversationset"),
        sent_spans.take_sent_spans,
        sent_spans.SentSpansData,
        is_read_only=False,
        is_idempotent=True,
    ),
    Operation(
        "review_conversation",
        "Review a conversation",
        "Keep what a person says of a grade: that the check passes or not, that a failure is not the"
        " agent's fault, or a comment. It counts as the word of the person whose token this is: say"
        " only what they said. why_failed has the numbers of grades.",
        acting.ReviewOfConversation,
        {"execution": 118, "grade": 412, "passed": True, "reason": "On its way is right, too."},
        Need(Scope.AUTHOR, "evals_app.view_execution", REVIEWING),
        acting.review_conversation,
        ReviewJson,
        is_read_only=False,
    ),
    Operation(
        "decide_release",
        "Note what is shipped",
        "Note that a person ships the version that a run tested, or does not. What is shipped becomes"
        " the released version. It counts as the decision of the person whose token this is: ask"
        " them first.",
        acting.DecisionOnRun,
        {"run": 12, "shipped": False, "reason": "Refunds got worse."},
        Need(Scope.RUN, "evals_app.view_run", DECIDING),
        acting.decide_release,
        ShipDecisionJson,
        is_read_only=False,
        is_destructive=True,
    ),
)
TOOLS = {tool.name: tool for tool in _TABLE}
