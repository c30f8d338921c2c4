/** Tokens of the container registry: push tokens for deployments, and the registry's token endpoint. */
import { z } from 'zod'
import { ConflictError, DomainError, NotFoundError, UnauthenticatedError } from '../errors/errors.ts'
import { parse, type RawInput } from '../parsing/parse.ts'
import { coversRepository, type RegistryAccess, repositoryOf, type VerifiedToken } from '../ports/registry.ts'
import { refuseDeleted } from '../repositories/locks.ts'
import { liveDeployment, requireRole } from '../transaction/access.ts'
import type { Core, RequestContext } from '../transaction/context.ts'
import { deploymentPath } from '../values/shapes.ts'

export const pushTokenInput = z.object({ path: deploymentPath })

/** long enough for a large image */
const PUSH_TOKEN_SECONDS = 15 * 60

export interface PushToken {
  /** secret: never log it */
  token: string
  /** `host/repository`: append `:tag`, or `/name:tag` for a repository below */
  registryUrl: string
}

/** Role: deployer. Throws ConflictError for other sources, a deleted deployment, or without a configured registry. */
export async function createPushToken(ctx: RequestContext, raw: RawInput): Promise<PushToken> {
  requireRole(ctx, 'deployer')
  const { path } = parse(pushTokenInput, raw)
  const id = path.deployment_id
  const deployment = await ctx.db.deployment.findFirst({ where: { id, ...liveDeployment(ctx) } })
  if (!deployment) throw new NotFoundError('Deployment', id)
  refuseDeleted(deployment)
  if (deployment.source !== 'internal_container')
    throw new ConflictError(
      `Only for internal_container sources; the source of deployment ID ${id} is ${deployment.source}.`,
    )
  const { registry } = ctx
  if (!registry)
    throw new ConflictError(
      'No container registry is configured here: set REGISTRY_URL, REGISTRY_TOKEN_KEY and REGISTRY_TOKEN_CERTIFICATE.',
    )
  const repository = repositoryOf(deployment)
  const token = await registry.sign(ctx.actor.subject, [{ repository, actions: ['pull', 'push'] }], PUSH_TOKEN_SECONDS)
  return { token, registryUrl: `${registry.host}/${repository}` }
}

const oneOrMore = z.preprocess((raw) => (typeof raw === 'string' ? [raw] : raw), z.array(z.string()).optional())

export const exchangeInput = z.object({
  query: z.object({
    service: z.string().optional().describe('The service name of the registry.'),
    scope: oneOrMore.describe('A scope such as `repository:NAME:pull,push`. It may be given several times.'),
    account: z.string().optional().describe('This parameter is ignored.'),
  }),
})

export interface ExchangedToken {
  /** secret: never log it */
  token: string
  /** seconds */
  expiresIn: number
  issuedAt: Date
}

/** `password`: a push token, or null. Throws UnauthenticatedError; NOT_FOUND if no registry is configured. */
export async function exchangeToken(core: Core, password: string | null, raw: RawInput): Promise<ExchangedToken> {
  const { registry } = core
  if (!registry) throw new DomainError('NOT_FOUND', 'No container registry is configured here.')
  const pushToken =
    password === null ? null : ((await verifyPullPassword(core, password)) ?? (await registry.verify(password)))
  const expiresIn = pushToken ? Math.floor((pushToken.expiresAt.getTime() - Date.now()) / 1000) : 0
  if (!pushToken || expiresIn < 1)
    throw new UnauthenticatedError('A push token is required as the password; any user name will do.')
  const { query } = parse(exchangeInput, raw, { foreignQuery: true })
  const access = intersection(pushToken.access, (query.scope ?? []).flatMap(parseScopes))
  return { token: await registry.sign(pushToken.subject, access, expiresIn), expiresIn, issuedAt: new Date() }
}

/** Validity of a token for one pull. */
const PULL_TOKEN_SECONDS = 10 * 60

/** The access of a deployment's permanent pull password, while the deployment exists; null: not such a password. */
async function verifyPullPassword({ db, registry }: Core, password: string): Promise<VerifiedToken | null> {
  const repository = registry?.pulls(password) ?? null
  if (repository === null) return null
  const [workspaceId, id] = repository.split('/')
  const deployment = await db.deployment.findFirst({ where: { id: id ?? '', workspaceId, tornDownAt: null } })
  if (!deployment) return null
  const expiresAt = new Date(Date.now() + PULL_TOKEN_SECONDS * 1000)
  return { subject: `deployment:${deployment.id}`, access: [{ repository, actions: ['pull'] }], expiresAt }
}

/** Some clients put several scopes into one parameter. Names may contain a colon; types and actions don't. */
function parseScopes(text: string): { name: string; actions: string[] }[] {
  return text.split(' ').flatMap((scope) => {
    const found = /^repository(?:\([^)]*\))?:(.+):([^:]*)$/.exec(scope)
    return found ? [{ name: found[1]!, actions: found[2]!.split(',') }] : []
  })
}

/** For each requested repository: the actions granted for it or for a parent repository. */
function intersection(granted: RegistryAccess[], requested: { name: string; actions: string[] }[]): RegistryAccess[] {
  return [...new Set(requested.map(({ name }) => name))]
    .map((repository) => {
      const requestedActions = requested.filter(({ name }) => name === repository).flatMap((scope) => scope.actions)
      const allowed = granted
        .filter((access) => coversRepository(access.repository, repository))
        .flatMap((a) => a.actions)
      return { repository, actions: [...new Set(allowed)].filter((action) => requestedActions.includes(action)) }
    })
    .filter(({ actions }) => actions.length > 0)
}
