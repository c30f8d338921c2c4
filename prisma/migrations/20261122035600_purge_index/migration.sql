-- The sweep looks every few seconds, on every server, for what is to be purged: without this it reads all deployments.
CREATE INDEX "deployments_torn_down" ON "deployments"("torn_down_at") WHERE "torn_down_at" IS NOT NULL;
