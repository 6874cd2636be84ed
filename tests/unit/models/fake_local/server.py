served = []


async def serve(engine, host, port, api_key):
    served.append((engine.name, host, port, api_key))
