-- Whether a request has named `access`. Existing deployments are public by default: the dashboard asks for a decision.
ALTER TABLE "deployments" ADD COLUMN "access_chosen" BOOLEAN NOT NULL DEFAULT false;
