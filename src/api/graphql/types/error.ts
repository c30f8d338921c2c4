/** The errors in mutation results. Each implements `interface Error`; the domain has the classes. */
import {
  ConflictError,
  type DomainError,
  ForbiddenError,
  NotFoundError,
  NotRedeployableError,
  PreconditionFailedError,
  ValidationError,
} from '../../../domain/errors/errors.ts'
import { OAuthUnavailableError } from '../../../domain/ports/oauth-client.ts'
import { builder } from '../builder/builder.ts'
import { ErrorCodeEnum } from '../builder/enums.ts'
import { type Issue, issuesOf, messageOf } from '../builder/errors.ts'

const ErrorInterface = builder.interfaceRef<DomainError>('Error').implement({
  description: 'An error of a mutation that the caller can handle.',
  fields: (t) => ({
    message: t.string({
      description: 'A message for people. It says what to do.',
      resolve: (error) => messageOf(error),
    }),
    code: t.expose('code', { type: ErrorCodeEnum }),
  }),
})

const ValidationIssue = builder.objectRef<Issue>('ValidationIssue').implement({
  description: 'One problem in the input.',
  fields: (t) => ({
    path: t.stringList({
      description: 'The place of the problem: `["input", "sourceConfig", "resourceSpec", "cpu"]`.',
      resolve: ({ path }) => path.map(String),
    }),
    message: t.exposeString('message', { description: 'What is allowed.' }),
    code: t.exposeString('code', { description: 'A stable machine-readable code: `missing`, `less_than_equal`, …' }),
  }),
})

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input is invalid. `issues` has all problems that were found.',
  interfaces: [ErrorInterface],
  fields: (t) => ({ issues: t.field({ type: [ValidationIssue], resolve: (error) => issuesOf(error) }) }),
})

builder.objectType(PreconditionFailedError, {
  name: 'PreconditionFailedError',
  description: 'The resource changed since the given `ifVersion`, so nothing was changed. Read it again, then retry.',
  interfaces: [ErrorInterface],
  fields: (t) => ({ version: t.exposeInt('version', { description: 'The current version.' }) }),
})

const errorType = (type: Parameters<typeof builder.objectType>[0], name: string, description: string) =>
  builder.objectType(type as typeof DomainError, { name, description, interfaces: [ErrorInterface] })

errorType(ForbiddenError, 'ForbiddenError', 'The caller’s role or plan does not allow this.')
errorType(NotFoundError, 'NotFoundError', 'The resource does not exist in the caller’s workspace.')
errorType(
  ConflictError,
  'ConflictError',
  'The current state does not allow the change: a name is taken, a revision has ended, a deployment is being deleted.',
)
errorType(
  OAuthUnavailableError,
  'OAuthProviderUnavailableError',
  'The OAuth provider or the MCP server did not answer. The same call may succeed later.',
)
errorType(NotRedeployableError, 'NotRedeployableError', 'The revision can’t be redeployed. The message says why.')
