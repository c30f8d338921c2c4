// Calls the addresses among its arguments and writes what came of it: a process of its own, because only its start decides whom it trusts.

import { createOutbound } from '../../src/adapters/oauth/guarded-fetch.ts'
import { OAuthFailure } from '../../src/domain/ports/oauth-client.ts'

// every name leads to this machine, as not every system has names below localhost
const outbound = createOutbound({ allow: ['127.0.0.1'] }, (_name, _options, done) =>
  done(null, [{ address: '127.0.0.1', family: 4 }]),
)
const outcomes: string[] = []
for (const url of process.argv.slice(2)) {
  try {
    outcomes.push(await (await outbound.fetch(url)).text())
  } catch (error) {
    if (!(error instanceof OAuthFailure)) throw error
    outcomes.push(`${error.kind}: ${error.message}`)
  }
}
process.stdout.write(JSON.stringify(outcomes))
