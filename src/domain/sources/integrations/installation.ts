/** Installs the app: starts at the provider's page, ends at its callback. The `state` identifies workspace and person (../README.md). */
import { z } from 'zod'
import type { Integration } from '../../../generated/prisma/client.ts'
import { hashToken, randomToken } from '../../crypto/random-token.ts'
import { ConflictError, ForbiddenError, NotFoundError } from '../../errors/errors.ts'
import { changedFields, parse, type RawInput } from '../../parsing/parse.ts'
import type { GitProvider, ProviderInstallation } from '../../ports/git-provider.ts'
import { requireRole } from '../../transaction/access.ts'
import { type Core, type ReadCore, type RequestContext, type Tx, transaction } from '../../transaction/context.ts'
import { requireGitProvider } from './integrations.ts'

/** Time that a person has to finish. */
const VALID_MINUTES = 15

export const startInput = z.object({})

/** Returns the provider's page to install the app. The URL leads back to the callback once, until `expiresAt`. Role: admin. Throws ConflictError, ProviderUnavailableError. */
export async function startInstallation(
  ctx: RequestContext,
  raw: RawInput,
): Promise<{ installUrl: string; expiresAt: Date }> {
  requireRole(ctx, 'admin')
  parse(startInput, raw)
  const provider = requireGitProvider(ctx)
  const state = randomToken()
  const installUrl = await provider.installUrl(state, ctx.client?.gone)
  const [made] = await ctx.db.$queryRaw<[{ expires_at: Date }]>`
    WITH purged AS (DELETE FROM install_states WHERE expires_at < now())
    INSERT INTO install_states (hash, workspace_id, subject, expires_at)
    VALUES (${hashToken(state)}, ${ctx.workspace.id}::uuid, ${ctx.actor.subject}, now() + make_interval(mins => ${VALID_MINUTES}::int))
    RETURNING expires_at`
  return { installUrl, expiresAt: made.expires_at }
}

/** Tolerance for a provider's clock that is behind. */
const CLOCK_SKEW_MS = 60_000

const text = z.string().min(1).max(1024)

const finishInput = z.object({
  query: z.object({
    state: text,
    installation_id: z
      .string()
      .regex(/^\d{1,15}$/, 'Must be digits.')
      .transform(Number),
    code: text.optional(),
  }),
})

interface InstallState {
  workspaceId: string
  subject: string
  createdAt: Date
}

/**
 * Handles the callback; its installation id proves nothing. Idempotent. Restores a removed integration, also for its deployments. Throws ForbiddenError for an invalid state or an unproven
 * installation, NotFoundError, ConflictError, ProviderUnavailableError.
 */
export async function finishInstallation(core: Core, raw: RawInput, signal?: AbortSignal): Promise<Integration> {
  const { query } = parse(finishInput, raw, { foreignQuery: true })
  const provider = requireGitProvider(core)
  const state = await consumeState(core, query.state)
  const installation = await provider.installation(query.installation_id, signal)
  if (!installation) throw new NotFoundError('Installation', String(query.installation_id))
  await requireProof(provider, installation, state, query.code, signal)
  return transaction(core, (tx) => store(tx, installation, state))
}

/** Valid once: the deletion of the row decides between concurrent calls. */
async function consumeState(core: ReadCore, state: string): Promise<InstallState> {
  const [found] = await core.db.$queryRaw<InstallState[]>`
    DELETE FROM install_states WHERE hash = ${hashToken(state)} AND expires_at > now()
    RETURNING workspace_id AS "workspaceId", subject, created_at AS "createdAt"`
  if (found) return found
  throw new ForbiddenError('This link is unknown, was used already, or has expired. Start the installation again.')
}

async function requireProof(
  provider: GitProvider,
  installation: ProviderInstallation,
  state: InstallState,
  code: string | undefined,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (!provider.mayUse) {
    if (installation.createdAt.getTime() >= state.createdAt.getTime() - CLOCK_SKEW_MS) return
    throw new ForbiddenError(
      'The app had been installed before you started here, and this server has no OAuth client at the git provider (GITPROVIDER_CLIENT_ID and GITPROVIDER_CLIENT_SECRET), so it can’t tell whether the installation is yours. Uninstall the app at the git provider and start again, or ask the operator to configure the client.',
    )
  }
  if (code && (await provider.mayUse(code, installation.id, signal))) return
  throw new ForbiddenError(
    'The git provider did not confirm that you may use this installation. Start again, signed in there as an owner of the account.',
  )
}

async function store(tx: Tx, installation: ProviderInstallation, state: InstallState): Promise<Integration> {
  // one at a time for each installation, so two organizations can't both get it
  await tx.sql.$executeRaw`SELECT pg_advisory_xact_lock(${BigInt(installation.id)}::bigint)`
  const { workspaceId, subject } = state
  const installationId = BigInt(installation.id)
  const { organizationId } = await tx.sql.workspace.findUniqueOrThrow({ where: { id: workspaceId } })
  const taken = await tx.sql.integration.count({
    where: { installationId, removedAt: null, workspace: { organizationId: { not: organizationId } } },
  })
  if (taken > 0)
    throw new ConflictError('This installation belongs to another organization here; it has to remove it first.')

  // the current row, or else the most recently removed one
  const known = await tx.sql.integration.findFirst({
    where: { workspaceId, installationId },
    orderBy: { removedAt: { sort: 'desc', nulls: 'first' } },
  })
  const current = {
    name: installation.account,
    account: installation.account,
    suspendedAt: installation.suspended ? (known?.suspendedAt ?? tx.now()) : null,
    removedAt: null,
  }
  const integration = known
    ? await tx.sql.integration.update({ where: { id: known.id }, data: current })
    : await tx.sql.integration.create({ data: { workspaceId, kind: 'app', installationId, ...current } })
  const log = { workspaceId, subjectId: integration.id, actor: { id: subject } }
  const changed = known ? changedFields(known, { name: current.name }) : []
  const suspends = current.suspendedAt !== null
  if (!known || known.removedAt) tx.emit({ ...log, type: 'integration.created' })
  else {
    if (changed.length > 0) tx.emit({ ...log, type: 'integration.updated', changed })
    if (suspends !== (known.suspendedAt !== null))
      tx.emit({ ...log, type: suspends ? 'integration.suspended' : 'integration.unsuspended' })
  }
  return integration
}
