/** Names that the TAB key completes: of contexts, and of the server's deployments. Errors and slow servers suggest nothing. */
import { createClient } from '../../client/index.ts'
import type { Suggestions } from '../terminal/completion.ts'
import { connectionOf } from './frame/call.ts'
import { contextNames } from './frame/contexts.ts'

const SERVER_TIMEOUT_MS = 1_000
/** the most deployments of one suggestion */
const MAX_DEPLOYMENTS = 100

export const SUGGESTIONS: Suggestions = {
  context: async (env) => contextNames(env),
  async deployment(env, words) {
    const { url, key, tenant } = connectionOf(
      {
        context: optionValue(words, '--context'),
        url: optionValue(words, '--url'),
        workspace: optionValue(words, '--workspace'),
      },
      env,
    )
    if (key === undefined) return []
    const { api } = createClient({ baseUrl: url, apiKey: key, tenantId: tenant, retryForMs: 0 })
    const query = { name_contains: words.at(-1) || undefined, limit: MAX_DEPLOYMENTS }
    const signal = AbortSignal.timeout(SERVER_TIMEOUT_MS)
    const { data } = await api.GET('/v2/deployments', { params: { query }, signal })
    return data!.resources.map(({ name }) => name)
  },
}

/** The value of an option, given as `--name value` or `--name=value`. */
function optionValue(words: string[], option: string): string | undefined {
  const at = words.findIndex((word) => word === option || word.startsWith(`${option}=`))
  if (at < 0) return undefined
  return words[at] === option ? words[at + 1] : words[at]!.slice(option.length + 1)
}
