-- updated_at is when somebody changed it: no write of work's moves it, and whoever makes a row needs not say it.

ALTER TABLE "listeners" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "deployments" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "revisions" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
ALTER TABLE "oauth_providers" ALTER COLUMN "updated_at" SET DEFAULT CURRENT_TIMESTAMP;
