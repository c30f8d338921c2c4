/**
 * Carries out what was written down in `token_revocations`: at once by whoever wrote it, otherwise by a job of any
 * server, later each time, for a day. Nothing of it is exactly once, and need not be: to revoke twice does no harm.
 */
import type { Core } from '../context.ts'
import { clauseOf } from '../providers/client.ts'
import { HELD_SECONDS, openContent, type Revocation, type RevocationContent } from './revocations.ts'

/** ms that a caller waits for the provider */
const AT_ONCE = 5000
/** ms that the job does */
const PATIENCE = 30_000
/** the job's calls at the same time: a provider that hangs holds up few others */
const TOGETHER = 8
/** seconds until the next try, which double from one to the other */
const FIRST_PAUSE = 10
const LONGEST_PAUSE = 3600
const GIVE_UP_HOURS = 24

/** Tells the provider now, within 5 s. What fails is left to the job; nothing is thrown for it. */
export async function revokeNow(core: Core, revocation: Revocation): Promise<void> {
  await attempt(core, revocation, AT_ONCE).catch((error) => {
    core.log.error({ err: error }, 'could not note how revoking a deleted token went; the job does it again')
  })
}

/** A round of the job: all that is due. Safe on several servers at once. `signal`: the server stops. */
export async function revokeDue(core: Core, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const due = await take(core)
    if (due.length === 0) return
    await Promise.all(due.map((one) => attempt(core, one, PATIENCE, signal)))
  }
}

function take(core: Core): Promise<Revocation[]> {
  return core.db.$queryRaw`
    UPDATE token_revocations SET tries = tries + 1, not_before = clock_timestamp() + make_interval(secs => ${HELD_SECONDS})
    WHERE id IN (
      SELECT id FROM token_revocations WHERE not_before <= clock_timestamp()
      ORDER BY not_before LIMIT ${TOGETHER} FOR UPDATE SKIP LOCKED)
    RETURNING id, sealed, tries`
}

async function attempt(core: Core, held: Revocation, patience: number, stop?: AbortSignal): Promise<void> {
  let content: RevocationContent | undefined
  let failure: string
  try {
    content = openContent(core.keyring, held)
    if (await inTime(patience, revokeAtProvider(core, content), stop)) return await finish(core, held)
    if (stop?.aborted) return await giveBack(core, [held])
    failure = 'did not answer in time'
  } catch (error) {
    failure = clauseOf(error)
  }
  if (await postpone(core, held)) {
    const about = { provider: content?.providerId, oauthTokenId: content?.tokenId, failure }
    core.log.warn(about, `a deleted token was not revoked: its provider could not be told for ${GIVE_UP_HOURS} hours`)
  }
}

/** A provider that publishes no place for it has nothing to be told. Throws OAuthFailure. */
async function revokeAtProvider({ oauth }: Core, content: RevocationContent): Promise<void> {
  const { access, accessToken, refreshToken } = content
  const url = content.revocationUrl ?? (await oauth.published(access)).revocationUrl
  if (!url) return
  // first what new tokens could still be made from; most providers end the whole grant with it
  if (refreshToken) await oauth.revoke(access, url, { value: refreshToken, hint: 'refresh_token' })
  await oauth.revoke(access, url, { value: accessToken, hint: 'access_token' })
}

/** Whether `work` was done within `ms`, before `stop` aborted. Otherwise it goes on, and nobody hears how it ends. */
async function inTime(ms: number, work: Promise<void>, stop?: AbortSignal): Promise<boolean> {
  let end = () => {}
  const over = new Promise<false>((resolve) => {
    end = () => resolve(false)
  })
  const timer = setTimeout(end, ms)
  stop?.addEventListener('abort', end)
  if (stop?.aborted) end()
  try {
    return await Promise.race([work.then(() => true), over])
  } finally {
    clearTimeout(timer)
    stop?.removeEventListener('abort', end)
    work.catch(() => {})
  }
}

async function finish({ db }: Core, { id, tries }: Revocation): Promise<void> {
  await db.tokenRevocation.deleteMany({ where: { id, tries } })
}

/** Whoever holds these tells nobody, and the job of any server has them with its next round. */
export async function giveBack({ db }: Core, held: readonly Revocation[]): Promise<void> {
  const [ids, tries] = [held.map(({ id }) => id), held.map((one) => one.tries)]
  await db.$executeRaw`
    UPDATE token_revocations r SET not_before = clock_timestamp()
    FROM unnest(${ids}::uuid[], ${tries}::int[]) AS held (id, tries) WHERE r.id = held.id AND r.tries = held.tries`
}

/** Until later, or for good: then true. */
async function postpone({ db }: Core, { id, tries }: Revocation): Promise<boolean> {
  const dropped = await db.$executeRaw`
    DELETE FROM token_revocations WHERE id = ${id}::uuid AND tries = ${tries}
      AND created_at < clock_timestamp() - make_interval(hours => ${GIVE_UP_HOURS}::int)`
  if (dropped > 0) return true
  await db.$executeRaw`
    UPDATE token_revocations SET not_before = clock_timestamp()
      + make_interval(secs => least(${LONGEST_PAUSE}::float8, ${FIRST_PAUSE}::float8 * 2 ^ least(${tries}::int - 1, 20)))
    WHERE id = ${id}::uuid AND tries = ${tries}`
  return false
}
