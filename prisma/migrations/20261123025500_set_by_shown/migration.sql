-- Who gave a secret its value shows with its name.
CREATE TRIGGER "secret_sets_set_by_shown" AFTER UPDATE OF "set_by" ON "secret_sets" FOR EACH ROW EXECUTE FUNCTION "shown_in_deployment"();
