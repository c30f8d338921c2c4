-- A revision can be made and end in one statement, where nothing can run it. Its deployment has it as the latest by the end of that.
CREATE TRIGGER "revisions_latest_outcome_made" AFTER INSERT ON "revisions" FOR EACH ROW
  WHEN ("outcome_of"(NEW."status") IS NOT NULL) EXECUTE FUNCTION "tell_latest_outcome"();
