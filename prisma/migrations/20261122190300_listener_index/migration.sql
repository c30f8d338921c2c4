-- Who deletes a listener looks for all that name it, torn down or not.
CREATE INDEX "deployments_listener_id_idx" ON "deployments"("listener_id") WHERE "listener_id" IS NOT NULL;
