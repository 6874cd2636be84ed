served = []


async def serve(engine, host, port, api_key, *, ready=None):
    served.append((engine.name, host, port, api_key))
