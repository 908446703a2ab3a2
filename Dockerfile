# A server of one folder of notes: it takes the folder in, keeps up with it, and serves the page, HTTP and MCP.
#
#   docker build -t hybrid-memory .
#   docker run -p 127.0.0.1:8377:8377 -v ~/notes:/notes:ro -v hybrid-memory:/data hybrid-memory
#
# The log names the file with the token that clients need; `docker exec CONTAINER cat /data/memory.db.token` prints it.

FROM python:3.13-slim AS build
WORKDIR /source
COPY . .
RUN pip wheel --no-cache-dir --wheel-dir /wheels --constraint constraints.txt ".[serve,watch]"

FROM python:3.13-slim
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir --no-index --find-links /wheels "hybrid-memory-search[serve,watch]" && rm -r /wheels
RUN useradd --create-home memory && mkdir /data /notes && chown memory /data
USER memory
ENV HYBRID_MEMORY_DB_PATH=/data/memory.db
VOLUME /data
EXPOSE 8377
CMD ["sh", "-c", "hybrid-memory ingest --path /notes --incremental --quiet >/dev/null && exec hybrid-memory serve --host 0.0.0.0 --watch --token"]
