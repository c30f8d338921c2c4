/** The rows of the database and the names in its columns, for those who present them: whoever queries imports Prisma. */
export type {
  ApiKey,
  Deployment,
  Integration,
  Listener,
  LogLine,
  Organization,
  Revision,
  Workspace,
} from '../../generated/prisma/client.ts'
export { LogLevel, LogType, RevisionStatus, Source, StepOutcome } from '../../generated/prisma/enums.ts'
