/** Cases that start separate servers. */
import type { How } from '../measure/compare.ts'
import { agentAttacks } from '../others/agents.ts'
import { createsBesideManyFiles } from '../others/creates.ts'
import { dashboard } from '../others/dashboard.ts'
import { doorThroughput } from '../others/door.ts'
import { fairness } from '../others/fairness.ts'
import { searchedLogs } from '../others/log-search.ts'
import { followedLogs } from '../others/logs.ts'
import { manyAgents } from '../others/many-agents.ts'
import { metricsOfMany } from '../others/metrics.ts'
import { heard } from '../others/support.ts'
import { accessTokens } from '../others/tokens.ts'
import { uploads } from '../others/uploads.ts'
import { waits } from '../others/waits.ts'
import { writers } from '../others/writers.ts'
import { streams } from '../streams/main.ts'
import type { Case } from './case.ts'

const telling = (id: string, what: string, work: (how: How) => Promise<void>): Case => ({
  id,
  what,
  run: (_open, how) => heard(() => work(how)),
})

export const streamCases: Case[] = [
  telling('streams', 'Status over SSE to thousands of subscribers, compared with a stock graphql-yoga', streams),
  telling('waits', 'A thousand calls that wait for one revision', waits),
]

/** Cases without a contender; they run only when named. */
export const otherCases: Case[] = [
  telling('writers', 'A hundred PATCHes of one deployment at once', writers),
  telling('uploads', 'The largest upload', uploads),
  telling('tokens', 'Access tokens for agents', accessTokens),
  telling('logs', 'A log that is followed', followedLogs),
  telling('log-search', 'Searches in a long log', searchedLogs),
  telling('fairness', 'What others notice of one client that takes all it can get', fairness),
  ...(process.platform === 'linux'
    ? [
        telling('door', 'An agent behind the door, and behind Caddy', doorThroughput),
        telling('agents', 'A hundred agents of the process runtime at rest', manyAgents),
        telling('metrics', 'Metrics of a thousand deployments', metricsOfMany),
        telling('creates', 'Deployments that are created beside many files in /tmp', createsBesideManyFiles),
      ]
    : []),
  {
    id: 'dashboard',
    what: 'The dashboard in a browser, 50 of its deployments moving',
    run: async (open) => dashboard(await open()),
  },
  telling('attacks', 'What agents can do to each other', agentAttacks),
]
