-- A server of an older version notifies of every line, or of none: the poll finds those.
CREATE TABLE "followed_logs" (
    "deployment_id" UUID NOT NULL,
    "until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "followed_logs_pkey" PRIMARY KEY ("deployment_id")
);
