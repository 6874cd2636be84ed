# The sandbox server, with bubblewrap for its walls.
FROM docker.io/library/python:3.12-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends bubblewrap python3 \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip install --no-cache-dir .
ENV LRA_HOME=/data
RUN lra sandbox prepare && chmod -R a+rX /data
VOLUME /data
EXPOSE 8000
CMD ["lra", "sandbox", "serve", "--host", "0.0.0.0", "--port", "8000"]
