served = []


async def serve(path, host, port, api_key):
    served.append((path.name, host, port, api_key))
