from long_running_agents.testing import ScriptedModel, say


class LocalModel(ScriptedModel):
    def __init__(self, name, path):
        super().__init__([say("I am small.")] * 9)
        self.name, self.path = name, path
