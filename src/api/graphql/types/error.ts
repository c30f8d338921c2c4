/** The error members of mutation results. Each implements `interface Error`; the classes are the domain's. */
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
  description: 'What can go wrong in a mutation and is the caller’s to know.',
  fields: (t) => ({
    message: t.string({
      description: 'Written for people; says what they can do.',
      resolve: (error) => messageOf(error),
    }),
    code: t.expose('code', { type: ErrorCodeEnum }),
  }),
})

const ValidationIssue = builder.objectRef<Issue>('ValidationIssue').implement({
  description: 'One thing in the input that has to be mended.',
  fields: (t) => ({
    path: t.stringList({
      description: 'Where it is: `["input", "sourceConfig", "resourceSpec", "cpu"]`.',
      resolve: ({ path }) => path.map(String),
    }),
    message: t.exposeString('message', { description: 'Says what is allowed.' }),
    code: t.exposeString('code', { description: 'A stable machine word: `missing`, `less_than_equal`, …' }),
  }),
})

builder.objectType(ValidationError, {
  name: 'ValidationError',
  description: 'The input breaks rules; all that were found are in `issues`.',
  interfaces: [ErrorInterface],
  fields: (t) => ({ issues: t.field({ type: [ValidationIssue], resolve: (error) => issuesOf(error) }) }),
})

builder.objectType(ForbiddenError, {
  name: 'ForbiddenError',
  description: 'The caller’s role or plan does not allow this.',
  interfaces: [ErrorInterface],
})

builder.objectType(NotFoundError, {
  name: 'NotFoundError',
  description: 'There is no such thing in the caller’s workspace.',
  interfaces: [ErrorInterface],
})

builder.objectType(ConflictError, {
  name: 'ConflictError',
  description: 'The state of things forbids it: a name is taken, a revision has ended, a deployment is being deleted.',
  interfaces: [ErrorInterface],
})

builder.objectType(PreconditionFailedError, {
  name: 'PreconditionFailedError',
  description:
    'Somebody has edited it since the `ifVersion` that was sent; nothing was changed. Look at it again, then repeat.',
  interfaces: [ErrorInterface],
  fields: (t) => ({ version: t.exposeInt('version', { description: 'That it is at now.' }) }),
})

builder.objectType(OAuthUnavailableError, {
  name: 'OAuthProviderUnavailableError',
  description: 'The OAuth provider, or the MCP server, could not be asked. The same call may succeed later.',
  interfaces: [ErrorInterface],
})

builder.objectType(NotRedeployableError, {
  name: 'NotRedeployableError',
  description: 'The revision can’t be redeployed as it is; the message says why.',
  interfaces: [ErrorInterface],
})
