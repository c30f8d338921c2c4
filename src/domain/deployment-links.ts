/** Signed links: they open a deployment's agent in a browser, with the rights of the caller that made them. */
import { SignJWT } from 'jose'
import { z } from 'zod'
import { deploymentUrl } from './deployment-status/status.ts'
import { ConflictError, NotFoundError } from './errors/errors.ts'
import { linkKey } from './keys/access-copy.ts'
import { optional } from './parsing/fields.ts'
import { parse, type RawInput } from './parsing/parse.ts'
import { refuseDeleted } from './repositories/locks.ts'
import { type Caller, liveDeployment, requireRole } from './transaction/access.ts'
import type { RequestContext } from './transaction/context.ts'
import { deploymentPath } from './values/shapes.ts'

const DEFAULT_SECONDS = 3600

export const linkInput = z.object({
  path: deploymentPath,
  body: z
    .object({
      expires_in: optional(z.int().min(60).max(86_400)).describe(
        `Seconds until the link ends. Default: ${DEFAULT_SECONDS}. It never outlives a JWT that it was created with.`,
      ),
      path: optional(z.string().startsWith('/', 'Must begin with a slash.').max(2048)).describe(
        'The path to open at the agent. Default: `/`.',
      ),
    })
    .meta({ id: 'DeploymentLinkCreate' }),
})

export interface DeploymentLink {
  /** secret unless the deployment is public: never log it */
  url: string
  /** null: it does not end, because the deployment is public */
  expiresAt: Date | null
}

/** Role: viewer. Throws NotFoundError; ConflictError for a deleted deployment and before the first deploy. */
export async function createDeploymentLink(ctx: RequestContext, raw: RawInput): Promise<DeploymentLink> {
  requireRole(ctx, 'viewer')
  const { path, body } = parse(linkInput, raw)
  const id = path.deployment_id
  const deployment = await ctx.db.deployment.findFirst({ where: { id, ...liveDeployment(ctx) } })
  if (!deployment) throw new NotFoundError('Deployment', id)
  refuseDeleted(deployment)
  const base = deploymentUrl(deployment)
  if (base === null)
    throw new ConflictError(`Deployment ID ${id} has no URL yet. Wait until one of its revisions is DEPLOYED.`)
  const url = new URL(base.replace(/\/$/, '') + (body.path ?? '/'))
  if (deployment.access === 'public') return { url: url.href, expiresAt: null }

  const { actor, credential, workspace } = ctx
  const iat = Math.floor(ctx.clock().getTime() / 1000)
  const last = iat + (body.expires_in ?? DEFAULT_SECONDS)
  const exp = credential?.kind === 'jwt' ? Math.min(last, Math.floor(credential.endsAt.getTime() / 1000)) : last
  const key = await linkKey(ctx)
  const claims = {
    act: makerOf(ctx),
    sub_name: actor.name,
    ws: workspace.id,
    org: workspace.organizationId,
    role: actor.role,
  }
  const token = await new SignJWT({ ...claims, aud: 'link', sub: id, iat, exp })
    .setProtectedHeader({ alg: 'EdDSA', kid: key.id })
    .sign(key.privateKey)
  url.search = `${url.search || '?'}${url.search ? '&' : ''}pilothouse_link=${token}`
  return { url: url.href, expiresAt: new Date(exp * 1000) }
}

/** The credential that the link ends with. */
function makerOf({ actor, credential }: Caller): { kind: 'key' | 'session' | 'jwt'; id: string } {
  if (credential?.kind === 'session') return { kind: 'session', id: credential.sessionId }
  return { kind: credential?.kind ?? 'key', id: actor.subject }
}
