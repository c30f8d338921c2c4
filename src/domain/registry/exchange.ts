/**
 * What the registry's clients do with a token of ours: they give it to the realm as a password and ask for a token
 * with the scopes of one request. They get what both say, for no longer than the first one is valid.
 */
import { z } from 'zod'
import type { Core } from '../context.ts'
import { DomainError, UnauthenticatedError } from '../errors.ts'
import { parse, type RawInput } from '../parse.ts'
import { coversRepository, type RegistryAccess } from './registry.ts'

const oneOrMore = z.preprocess((raw) => (typeof raw === 'string' ? [raw] : raw), z.array(z.string()).optional())

export const exchangeInput = z.object({
  query: z.object({
    service: z.string().optional().describe('Of the registry.'),
    scope: oneOrMore.describe('`repository:NAME:pull,push`; may be given several times.'),
    account: z.string().optional().describe('Ignored.'),
  }),
})

export interface ExchangedToken {
  /** never log it */
  token: string
  /** seconds */
  expiresIn: number
  issuedAt: Date
}

/** `password`: a token of ours, or null. Throws UnauthenticatedError, and NOT_FOUND where no registry is configured. */
export async function exchangeToken(core: Core, password: string | null, raw: RawInput): Promise<ExchangedToken> {
  const { registry } = core
  if (!registry) throw new DomainError('NOT_FOUND', 'No container registry is configured here.')
  const held = password === null ? null : await registry.verify(password)
  const expiresIn = held ? Math.floor((held.expiresAt.getTime() - Date.now()) / 1000) : 0
  if (!held || expiresIn < 1)
    throw new UnauthenticatedError('A push token is required as the password; any user name will do.')
  const { query } = parse(exchangeInput, raw, { foreignQuery: true })
  const access = both(held.access, (query.scope ?? []).flatMap(scopesOf))
  return { token: await registry.sign(held.subject, access, expiresIn), expiresIn, issuedAt: new Date() }
}

/** Some clients put several scopes into one parameter. A name may contain a colon, type and actions don't. */
function scopesOf(text: string): { name: string; actions: string[] }[] {
  return text.split(' ').flatMap((scope) => {
    const found = /^repository(?:\([^)]*\))?:(.+):([^:]*)$/.exec(scope)
    return found ? [{ name: found[1]!, actions: found[2]!.split(',') }] : []
  })
}

/** Of what is asked for, each repository once: the actions that the token has for it, or for one it is below. */
function both(held: RegistryAccess[], asked: { name: string; actions: string[] }[]): RegistryAccess[] {
  return [...new Set(asked.map(({ name }) => name))]
    .map((repository) => {
      const wanted = asked.filter(({ name }) => name === repository).flatMap((scope) => scope.actions)
      const may = held.filter((access) => coversRepository(access.repository, repository)).flatMap((a) => a.actions)
      return { repository, actions: [...new Set(may)].filter((action) => wanted.includes(action)) }
    })
    .filter(({ actions }) => actions.length > 0)
}
