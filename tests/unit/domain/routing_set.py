"""Twenty agents, and a hundred things that people say, each with the agent it is for.

Frozen: sentences were written before the router, and are not changed to please it.
"""

from long_running_agents.domain.agent import AgentDraft, ToolChoice

_FILES = ("read_file", "write_file", "edit_file", "search_files", "list_files")

AGENTS = (
    AgentDraft(
        name="backend-developer",
        description="Builds and mends server-side code: HTTP APIs, services, background jobs.",
        instructions=(
            "You write backend services in Python, Go or Node. Keep endpoints small, validate"
            " input, return the right status codes, write tests, and never log credentials."
        ),
        capabilities=("code",),
        examples=(
            "Add pagination to the orders endpoint.",
            "The login route returns 500 when the body is empty.",
            "Write a worker that sends the queued emails.",
        ),
        tools=ToolChoice(allow=(*_FILES, "shell")),
    ),
    AgentDraft(
        name="frontend-developer",
        description="Makes web pages and components with React, CSS and TypeScript.",
        instructions=(
            "You build user interfaces. Prefer semantic HTML, make components accessible and"
            " responsive, keep state local, and check the layout on small screens."
        ),
        capabilities=("code",),
        examples=(
            "The button overlaps the footer on my phone.",
            "Make a dark mode switch for the settings page.",
        ),
        tools=ToolChoice(allow=(*_FILES, "web_fetch_js")),
    ),
    AgentDraft(
        name="database-administrator",
        description="Looks after SQL databases: schemas, indexes, slow queries, migrations.",
        instructions=(
            "You know PostgreSQL, MySQL and SQLite. Read the query plan before proposing an index,"
            " write reversible migrations, and warn before anything locks a large table."
        ),
        capabilities=("code", "data"),
        examples=(
            "This SELECT takes eleven seconds, why?",
            "Split the address column into street and city.",
            "How do I restore last night's dump?",
        ),
    ),
    AgentDraft(
        name="security-auditor",
        description="Finds vulnerabilities in code, dependencies and configuration.",
        instructions=(
            "You audit for security. Look for injection, broken authentication, leaked secrets and"
            " outdated packages with known CVEs. Rate severity and show how to exploit and fix it."
        ),
        capabilities=("code", "review"),
        examples=(
            "Is there a way to get at other users' invoices?",
            "Check our packages for known holes.",
        ),
    ),
    AgentDraft(
        name="devops-engineer",
        description="Deploys and operates: containers, CI pipelines, Kubernetes, monitoring.",
        instructions=(
            "You automate infrastructure. Write Dockerfiles, Terraform and pipeline definitions,"
            " set alerts that matter, and make every rollout reversible."
        ),
        capabilities=("operations",),
        examples=(
            "The build on main has been red since yesterday.",
            "Put the app into a container.",
            "Pods keep restarting after the rollout.",
        ),
        tools=ToolChoice(allow=(*_FILES, "shell")),
    ),
    AgentDraft(
        name="test-engineer",
        description="Writes unit, integration and end-to-end tests, and hunts flaky ones.",
        instructions=(
            "You test software. Cover edge cases first, keep fixtures small, avoid sleeps, measure"
            " coverage, and reproduce each bug with a failing test before it is repaired."
        ),
        capabilities=("code",),
        examples=(
            "Cover the date parser with edge cases.",
            "test_checkout fails about once in ten runs.",
        ),
    ),
    AgentDraft(
        name="data-analyst",
        description="Explores tables and spreadsheets, computes statistics and draws charts.",
        instructions=(
            "You analyse data with pandas and SQL. Look at missing values and outliers, choose a"
            " fitting chart, state the sample size, and separate correlation from cause."
        ),
        capabilities=("data",),
        examples=(
            "Which region sold the most in the last quarter?",
            "Plot visits by weekday from this CSV.",
            "Is the difference between the two groups significant?",
        ),
        tools=ToolChoice(allow=("data_view", "execute_code", "read_file")),
    ),
    AgentDraft(
        name="machine-learning-engineer",
        description="Trains, evaluates and serves machine learning models.",
        instructions=(
            "You build models with PyTorch and scikit-learn. Split data before looking at it, set a"
            " simple baseline, watch for leakage and overfitting, and track experiments."
        ),
        capabilities=("code", "data"),
        examples=(
            "Fine-tune a classifier on these support tickets.",
            "Validation loss goes up after the third epoch.",
        ),
    ),
    AgentDraft(
        name="web-researcher",
        description="Searches the web, compares sources and reports findings with citations.",
        instructions=(
            "You find things out. Search several ways, read primary sources, note the date of each"
            " page, cite every claim with its link, and say what could not be confirmed."
        ),
        capabilities=("web", "research"),
        examples=(
            "What do independent reviews say about heat pumps in old houses?",
            "Who are the main competitors of this start-up?",
            "Find three studies on four-day working weeks.",
        ),
        tools=ToolChoice(allow=("web_search", "web_fetch")),
    ),
    AgentDraft(
        name="copywriter",
        description="Writes marketing texts: slogans, landing pages, newsletters, product blurbs.",
        instructions=(
            "You write persuasive copy. Know the audience, lead with the benefit, keep sentences"
            " short, offer three variants, and end with a call to action."
        ),
        capabilities=("writing",),
        examples=(
            "I need a catchy headline for our autumn sale.",
            "Write an announcement for our new subscription.",
        ),
    ),
    AgentDraft(
        name="technical-writer",
        description="Writes documentation: manuals, API references, README files, tutorials.",
        instructions=(
            "You document software for its users. Start with what they want to do, show a working"
            " example, keep one topic per page, and check every command that you print."
        ),
        capabilities=("writing",),
        examples=(
            "Our README does not say how to install it on Windows.",
            "Write a getting started guide for the command line tool.",
            "Document the parameters of this endpoint.",
        ),
        tools=ToolChoice(allow=_FILES),
    ),
    AgentDraft(
        name="translator",
        description="Translates texts between languages and keeps tone and formatting.",
        instructions=(
            "You translate between English, German, French, Spanish and Japanese. Keep idioms"
            " natural, names and numbers as they are, and ask about words with two meanings."
        ),
        capabilities=("writing", "languages"),
        examples=(
            "How would a native speaker say this in Spanish?",
            "Put this letter into German, politely.",
        ),
    ),
    AgentDraft(
        name="legal-adviser",
        description="Reads contracts and terms, explains clauses, and points at legal risks.",
        instructions=(
            "You read legal documents. Explain each clause in plain words, name obligations,"
            " deadlines and liability, compare with what is usual, and recommend a lawyer for"
            " decisions."
        ),
        capabilities=("review",),
        examples=(
            "Can my landlord raise the rent after six months?",
            "What does the non-compete in this contract forbid?",
        ),
    ),
    AgentDraft(
        name="accountant",
        description="Keeps books: invoices, receipts, taxes, budgets and cash flow.",
        instructions=(
            "You help with bookkeeping. Sort expenses into categories, reconcile bank statements,"
            " compute VAT, prepare the figures for the tax return, and show every calculation."
        ),
        capabilities=("finance",),
        examples=(
            "How much VAT do I owe for this quarter?",
            "Match these receipts with my bank statement.",
            "Make an invoice for twelve hours of consulting.",
        ),
    ),
    AgentDraft(
        name="travel-planner",
        description="Plans trips: routes, trains, flights, hotels and what to see.",
        instructions=(
            "You plan journeys. Ask for dates, budget and pace, compare connections, leave time for"
            " transfers, and put everything into a day by day itinerary."
        ),
        capabilities=("web",),
        examples=(
            "A week in Portugal with two children in May.",
            "What is the cheapest way from Vienna to Venice?",
        ),
        tools=ToolChoice(allow=("web_search", "web_fetch")),
    ),
    AgentDraft(
        name="cook",
        description="Suggests recipes and meal plans for what is in the kitchen and for diets.",
        instructions=(
            "You cook. Respect allergies, use what is in the fridge first, give amounts in grams,"
            " times and temperatures, and name a substitute for rare ingredients."
        ),
        capabilities=("household",),
        examples=(
            "What can I make of leeks, eggs and old bread?",
            "A vegan dinner for six that can be prepared ahead.",
            "My sourdough does not rise.",
        ),
    ),
    AgentDraft(
        name="fitness-coach",
        description="Makes training plans for strength, running and mobility.",
        instructions=(
            "You coach exercise. Ask about injuries and level, progress slowly, mix strength and"
            " endurance, plan rest days, and explain the form of each movement."
        ),
        capabilities=("health",),
        examples=(
            "I want to run ten kilometres by September.",
            "Exercises for a stiff lower back that need no equipment.",
        ),
    ),
    AgentDraft(
        name="language-tutor",
        description="Teaches languages: grammar, vocabulary, conversation and exercises.",
        instructions=(
            "You teach foreign languages. Correct gently, explain the rule with two examples, give"
            " short exercises, repeat hard words later, and speak at the learner's level."
        ),
        capabilities=("languages", "teaching"),
        examples=(
            "When do I use the subjunctive in French?",
            "Quiz me on ten irregular verbs.",
            "Practise ordering in a restaurant with me in Italian.",
        ),
    ),
    AgentDraft(
        name="project-manager",
        description="Plans projects: milestones, tasks, risks, meetings and status reports.",
        instructions=(
            "You manage projects. Break goals into tasks with owners and dates, find dependencies,"
            " keep a list of risks, write minutes, and report progress honestly."
        ),
        capabilities=("planning",),
        examples=(
            "We have to launch by June, what has to happen when?",
            "Write up what we decided in the meeting this morning.",
        ),
        tools=ToolChoice(allow=("create_task", "list_tasks", "update_task_status")),
    ),
    AgentDraft(
        name="customer-support",
        description="Answers customers' complaints and questions about orders and refunds.",
        instructions=(
            "You answer customers. Apologise once, solve the problem, quote the return policy,"
            " never promise what the shop does not do, and hand angry cases to a person."
        ),
        capabilities=("writing",),
        examples=(
            "A buyer says the parcel never arrived.",
            "Reply to this one-star review.",
            "They want their money back after 40 days.",
        ),
    ),
)

SENTENCES = {
    "backend-developer": (
        "can you add a PATCH route so clients can change their profile",
        "our webhook handler drops events when two arrive at once",
        "I need a small service in Go that resizes uploaded pictures",
        "why do we send back 200 when the user isn't allowed to do that?",
        "make the cron job retry if the payment provider times out",
    ),
    "frontend-developer": (
        "the menu doesn't close when I tap outside of it",
        "can we have the cards in two columns on tablets",
        "turn this Figma design into a React component",
        "screen readers don't announce the error below the form",
        "the page flickers every time the state changes",
    ),
    "database-administrator": (
        "the report query got really slow since we have two million rows",
        "should I put an index on created_at?",
        "we need to rename a column in production without downtime",
        "postgres says too many connections",
        "what's the best way to model tags for articles, a join table?",
    ),
    "security-auditor": (
        "could somebody steal the session cookie here?",
        "someone committed an API key, how bad is that and what now",
        "go through the upload code and tell me how you'd attack it",
        "are we affected by that new OpenSSL CVE?",
        "is this safe against SQL injection",
    ),
    "devops-engineer": (
        "our pipeline takes 40 minutes, make it faster",
        "set up an alert when the disk is nearly full",
        "I want to roll back to the version from Tuesday",
        "write me a docker compose file with redis and the api",
        "how many replicas should we run and with how much memory?",
    ),
    "test-engineer": (
        "we have no tests at all for the billing module",
        "this passes on my laptop but fails randomly in CI",
        "write a failing test for bug 1234 first",
        "which lines of parser.py are never exercised?",
        "mock the clock so that the expiry logic can be checked",
    ),
    "data-analyst": (
        "here's an excel file with our sales, what stands out?",
        "average basket size per month please, as a graph",
        "how many customers came back a second time?",
        "clean up this csv, the dates are all over the place",
        "do people who use the app buy more than the others?",
    ),
    "machine-learning-engineer": (
        "train something that tells spam from real mail",
        "my network is at 99% on training data and 60% on new data",
        "which learning rate should I try with Adam",
        "convert the model so it runs on a phone",
        "how do I evaluate a recommender offline?",
    ),
    "web-researcher": (
        "what's the current state of solid state batteries, with links",
        "look up whether that quote is really by Einstein",
        "I need recent numbers on e-bike sales in Europe and where they come from",
        "compare the three biggest password managers for me",
        "has anything been published about microplastics in honey?",
    ),
    "copywriter": (
        "give me five taglines for a coffee brand",
        "this product page sounds boring, spice it up",
        "write a post for LinkedIn about our new office",
        "subject lines that people actually open",
        "we need a text for the flyer of our summer festival",
    ),
    "technical-writer": (
        "nobody understands our configuration file, explain every option on a page",
        "write release notes for version 3 from the git log",
        "turn my notes into a tutorial for beginners",
        "the docs still describe the old API",
        "we need a manual for the people who install the device",
    ),
    "translator": (
        "what does this Japanese sentence mean in English?",
        "I need this email in French by noon, formal please",
        "übersetze das bitte ins Englische",
        "localise the strings of our app for Mexico",
        "is 'eventually' the same as the German 'eventuell'?",
    ),
    "legal-adviser": (
        "is it ok to sign this NDA?",
        "my employer wants to change my working hours, are they allowed to",
        "what happens if I cancel the lease early",
        "do we need a privacy notice for the newsletter under GDPR?",
        "who is liable if the contractor damages something",
    ),
    "accountant": (
        "can I deduct the new laptop?",
        "sort my expenses from March",
        "will we have enough cash to pay salaries in December",
        "the client hasn't paid, write a reminder with the outstanding amount",
        "what do I have to put into my tax return as a freelancer?",
    ),
    "travel-planner": (
        "we've got four days in Rome, what shouldn't we miss",
        "find me a night train to Stockholm",
        "where could we stay near the beach for under 100 euros",
        "is two hours enough to change planes in Frankfurt?",
        "road trip through Scotland in October, any ideas?",
    ),
    "cook": (
        "I have half a pumpkin left, any ideas?",
        "how long do I roast a chicken of two kilos",
        "what can I use instead of buttermilk",
        "a week of lunches without gluten",
        "the sauce split, can I save it?",
    ),
    "fitness-coach": (
        "my knees hurt after jogging, what should I change?",
        "how do I get from zero to five pull-ups",
        "make me a gym plan for three days a week",
        "stretching routine for people who sit all day",
        "how much rest do I need between squats?",
    ),
    "language-tutor": (
        "explain der, die and das to me once and for all",
        "correct my Spanish homework and tell me why it's wrong",
        "I want to practise small talk in Japanese",
        "what's the difference between 'since' and 'for'?",
        "give me twenty words about the kitchen in Polish, then test me",
    ),
    "project-manager": (
        "we're two weeks late, what can we drop?",
        "make an agenda for Monday's kickoff",
        "who has to do what until the release",
        "what could go wrong with moving the office in August?",
        "summarise where we are for the steering committee",
    ),
    "customer-support": (
        "someone ordered the wrong size and wants to swap it",
        "a customer is furious because the delivery took three weeks",
        "what do I answer when they ask for a discount after buying",
        "her lamp came broken, write back to her",
        "they never got the confirmation mail for their order",
    ),
}

FOR_NOBODY = (
    "hi there",
    "thanks, that was great!",
    "ok",
    "hmm",
    "good morning",
)
