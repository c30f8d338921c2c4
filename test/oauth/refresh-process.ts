// Calls the URLs in its arguments and prints the outcomes. A separate process, because trusted certificates are set at its start.

import { createOutbound } from '../../src/platform/http/guarded-fetch.ts'
import { OutboundFailure } from '../../src/platform/http/outbound-failure.ts'

// every name resolves to this machine, because some systems do not resolve names below localhost
const outbound = createOutbound({ allow: ['127.0.0.1'] }, (_name, _options, done) =>
  done(null, [{ address: '127.0.0.1', family: 4 }]),
)
const outcomes: string[] = []
for (const url of process.argv.slice(2)) {
  try {
    outcomes.push(await (await outbound.fetch(url)).text())
  } catch (error) {
    if (!(error instanceof OutboundFailure)) throw error
    outcomes.push(`${error.kind}: ${error.message}`)
  }
}
process.stdout.write(JSON.stringify(outcomes))
