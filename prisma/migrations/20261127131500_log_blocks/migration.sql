-- Searches skip blocks of lines without a match (src/domain/logs/README.md).

-- CreateTable
CREATE TABLE "log_blocks" (
    "deployment_id" UUID NOT NULL,
    "type" "LogType" NOT NULL,
    "last_id" BIGINT NOT NULL,
    "level" "LogLevel" NOT NULL,
    "after_id" BIGINT NOT NULL,
    "oldest" TIMESTAMPTZ(3) NOT NULL,
    "newest" TIMESTAMPTZ(3) NOT NULL,
    "text" TEXT COLLATE "C" NOT NULL,

    CONSTRAINT "log_blocks_pkey" PRIMARY KEY ("deployment_id", "type", "last_id", "level")
);

-- CreateIndex
CREATE INDEX "log_blocks_oldest_idx" ON "log_blocks"("oldest");

-- The value of a field of a line that is a JSON object, as text. Null: it has no such field, or the line is no object.
-- Postgres 15 has no IS JSON.
CREATE FUNCTION log_field(message text, name text) RETURNS text LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  found jsonb;
BEGIN
  IF left(ltrim(message), 1) <> '{' THEN RETURN NULL; END IF;
  found := message::jsonb;
  RETURN coalesce(found ->> name, found #>> string_to_array(name, '.'));
EXCEPTION WHEN data_exception OR program_limit_exceeded THEN RETURN NULL;
END $$;
