-- Reads show when each secret was set, and by whom.
CREATE OR REPLACE TRIGGER "secret_sets_shown" AFTER UPDATE OF "names", "set_by" ON "secret_sets" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();
