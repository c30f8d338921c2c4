-- How the latest revision ended is noted by who writes the revision, in the same statement: this is for those who don't. Nothing is
-- written twice then.
CREATE OR REPLACE FUNCTION "tell_latest_outcome"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE "deployments" SET "latest_outcome" = "outcome_of"(NEW."status")
  WHERE "latest_revision_id" = NEW."id" AND "latest_outcome" IS DISTINCT FROM "outcome_of"(NEW."status");
  RETURN NULL;
END $$;

-- A condition that calls a function is read anew in each statement, its body too.
CREATE OR REPLACE TRIGGER "revisions_latest_outcome" AFTER UPDATE OF "status" ON "revisions" FOR EACH ROW
  WHEN (NEW."status" <> OLD."status" AND (
    NEW."status" NOT IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')
    OR OLD."status" NOT IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING')))
  EXECUTE FUNCTION "tell_latest_outcome"();

CREATE OR REPLACE TRIGGER "revisions_latest_outcome_made" AFTER INSERT ON "revisions" FOR EACH ROW
  WHEN (NEW."status" NOT IN ('CREATING', 'QUEUED', 'AWAITING_BUILD', 'BUILDING', 'AWAITING_DEPLOY', 'DEPLOYING'))
  EXECUTE FUNCTION "tell_latest_outcome"();
