/** Types of database rows and enums for code that presents them. Code that queries imports Prisma. */
export type {
  Alert,
  AlertRule,
  ApiKey,
  Deployment,
  Integration,
  Listener,
  LogLine,
  Organization,
  Revision,
  Tag,
  Workspace,
} from '../../generated/prisma/client.ts'
export {
  DeploymentAccess,
  LogLevel,
  LogType,
  Plan,
  RevisionStatus,
  Source,
  StepOutcome,
} from '../../generated/prisma/enums.ts'
