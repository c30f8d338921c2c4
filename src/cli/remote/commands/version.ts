/** `version`: the versions of the command line and of the server. */
import { command } from '../../terminal/command.ts'
import { VERSION } from '../../terminal/version.ts'
import { connect, connectionOf, withErrors } from '../frame/call.ts'
import { warnIfNewer } from '../frame/server-version.ts'

export const version = command({
  examples: ['version', 'version --json'],
  details: 'Without a key it prints only the version of the command line.',
  define: (command) => command.option('--context <name>', 'the server of this context'),
  async work(call, _, options) {
    const { url, key, tenant } = connectionOf(options, call.env)
    const own = `pilothouse ${VERSION}`
    if (key === undefined) return { outcome: 'done', json: { version: VERSION, server: null }, text: own }
    return withErrors(async () => {
      const { data } = await connect({ url, key, tenant }, 0, call.say).api.GET('/v2/me')
      const server = { url, version: data!.server.version }
      warnIfNewer(server.version, call)
      return { outcome: 'done', json: { version: VERSION, server }, text: `${own}\nserver ${server.version} (${url})` }
    })
  },
})
