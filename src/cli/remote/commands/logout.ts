/** `logout`: revokes the key that `login` got for this machine, and forgets it. */
import { PilothouseError } from '../../../client/index.ts'
import { command, UsageError } from '../../terminal/command.ts'
import { connect, seconds, withErrors } from '../frame/call.ts'
import { type Context, checkName, currentName, readContext, removeContext } from '../frame/contexts.ts'

export const logout = command({
  examples: ['logout', 'logout --context prod'],
  details: `A key that \`login --key\` or \`context add\` stored is forgotten, but not revoked.
If the server does not answer, the key stays here; \`pilothouse context remove\` forgets it without revoking it.
Exit codes: 0 done, 1 failed, 2 invalid arguments, 7 server unreachable.`,
  define: (command) =>
    command
      .option('--context <name>', 'the context; by default the current one')
      .option('--retry-for <seconds>', 'how long to retry while the server does not answer', seconds, 60),
  async work(call, _, options) {
    call.leaveOnSignals()
    const { env } = call
    const name = options.context === undefined ? currentName(env) : checkName(options.context)
    const context = name === null ? null : readContext(env, name)
    if (name === null || !context)
      throw new UsageError(name === null ? 'You are not logged in.' : `There is no context ${name}.`)
    return withErrors(async () => {
      const { url } = context
      const revoked = context.login === true && (await revoke(context, options.retryFor, call.say))
      removeContext(env, name)
      const text = `Logged out of ${url}${revoked ? '; the key is revoked' : ''}.`
      return { outcome: 'done', json: { context: name, url, revoked }, text }
    })
  },
})

/** False: the key was revoked before. */
async function revoke({ url, key, tenant }: Context, retryFor: number, say: (line: string) => void): Promise<boolean> {
  const { api } = connect({ url, key, tenant }, retryFor, say)
  try {
    const { data } = await api.GET('/v2/me')
    await api.DELETE('/v2/keys/{api_key_id}', { params: { path: { api_key_id: data!.api_key!.id } } })
    return true
  } catch (error) {
    if (error instanceof PilothouseError && error.status === 401) return false
    throw error
  }
}
