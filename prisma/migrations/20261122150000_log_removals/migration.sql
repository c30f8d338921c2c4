-- What was removed of a log is said to whoever reads on across it. A server of an older version removes without a word here.
CREATE TABLE "log_removals" (
    "revision_id" UUID NOT NULL,
    "type" "LogType" NOT NULL,
    "deployment_id" UUID NOT NULL,
    "line_id" BIGINT NOT NULL,
    "attempt" INTEGER NOT NULL,
    "time" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "log_removals_pkey" PRIMARY KEY ("revision_id", "type")
);

CREATE INDEX "log_removals_deployment_id_type_line_id_idx" ON "log_removals"("deployment_id", "type", "line_id");

ALTER TABLE "log_removals" ADD CONSTRAINT "log_removals_revision_id_fkey" FOREIGN KEY ("revision_id") REFERENCES "revisions"("id") ON DELETE CASCADE ON UPDATE CASCADE;
