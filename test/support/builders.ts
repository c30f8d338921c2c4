/** A scripted builder: claims and completes builds through the real calls, when the test says so. */
import { randomUUID } from 'node:crypto'
import { claimForBuilder, heartbeatOfBuilder } from '../../src/domain/builders/control-plane.ts'
import { repositoryOf } from '../../src/domain/ports/registry.ts'
import type { BuilderClaim } from '../../src/domain/protocol/builders.ts'
import type { RequestContext } from '../../src/domain/transaction/context.ts'
import { as } from './domain.ts'

export const COMMIT = 'c0ffee'.padEnd(40, '0')

/** A builder of the workspace, or of its organization. */
export async function builderOf(tenant: RequestContext, { wide = false } = {}): Promise<RequestContext> {
  const { organizationId, id } = tenant.workspace
  const workspaceId = wide ? null : id
  const key = await tenant.db.apiKey.create({
    data: { organizationId, workspaceId, role: 'builder', name: 'build box', prefix: 'test', hash: randomUUID() },
  })
  const { actor, ...context } = as(tenant, 'builder')
  return { ...context, actor: { ...actor, subject: key.id, name: key.name, workspaceId } }
}

export const takeBuilds = (builder: RequestContext, body: object = {}) => claimForBuilder(builder, { body })

export const beatBuilds = (
  builder: RequestContext,
  claims: readonly Pick<BuilderClaim, 'claimId' | 'token'>[],
  body: object = {},
) =>
  heartbeatOfBuilder(builder, {
    body: { ...body, claims: claims.map(({ claimId, token }) => ({ claim_id: claimId, token })) },
  })

/** A call for a claim. */
export const about = ({ claimId, token }: Pick<BuilderClaim, 'claimId' | 'token'>, body: object = {}) => ({
  path: { claim_id: claimId },
  body: { token, ...body },
})

export const imageOf = ({ deployment }: Pick<BuilderClaim, 'deployment'>) =>
  `image:registry.test/${repositoryOf(deployment)}@sha256:${'0f'.repeat(32)}`

/** The report of a successful builder. */
export const successOfBuild = (claim: BuilderClaim) =>
  about(claim, { outcome: 'succeeded', artifact: imageOf(claim), repo_commit_sha: COMMIT })
