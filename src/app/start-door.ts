/** Starts the door of a cluster with its health server and metrics. Sends samples of its requests to the server that it follows. */
import fs from 'node:fs'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { agentFiguresText } from '../api/server/agent-figures.ts'
import { SERVICE_PORT, serviceHost } from '../dataplane/kubernetes/objects/names.ts'
import { DoorCounts } from '../dataplane/process/measure.ts'
import { measureRegularly } from '../dataplane/worker/metrics-loop.ts'
import { toWire } from '../domain/parsing/codec.ts'
import { metricsRequest } from '../domain/protocol/requests.ts'
import { AccessLog } from '../door/access-log.ts'
import { type ClusterDoor, type ClusterDoorOptions, startClusterDoor } from '../door/cluster-door.ts'
import { sendSamples } from '../door/follow-news.ts'
import { STDOUT } from '../door/log-file.ts'
import { batches } from '../listener/control-plane.ts'
import { startHealthServer } from '../listener/health.ts'
import type { DoorSettings } from '../platform/config/door-settings.ts'
import type { Log } from '../platform/log/log.ts'
import { createRecurringFailure } from '../platform/log/recurring-failure.ts'
import { checkAccessLog } from './logger.ts'

/** interval in which problems of the access log are told */
const REPORT_INTERVAL_MS = 2000

export interface RunningDoor {
  /** port of the health server */
  healthPort: number
  /** Resolves when the last connection has ended. */
  close(): Promise<void>
}

/** Throws when the health port, the folder or the access log can't be used. `serviceOf`: default: the Services of this cluster. */
export async function startDoor(
  settings: DoorSettings,
  log: Log,
  serviceOf: ClusterDoorOptions['serviceOf'] = ({ id, namespace }) => ({
    // the final dot spares the resolver the search list
    host: `${serviceHost(id, namespace)}.${settings.CLUSTER_DOMAIN}.`,
    port: SERVICE_PORT,
  }),
): Promise<RunningDoor> {
  const accessLog = await openAccessLog(settings.APPS_ACCESS_LOG, log)
  fs.mkdirSync(settings.DATA_DIR, { recursive: true, mode: 0o700 })
  const door = startClusterDoor({
    url: settings.CONTROL_PLANE_URL,
    token: settings.DOOR_TOKEN,
    folder: settings.DATA_DIR,
    host: settings.DOOR_HOST,
    port: settings.DOOR_PORT,
    accessLog,
    listeners: settings.DOOR_LISTENERS,
    appsUrl: settings.APPS_URL,
    serviceOf,
    log,
  })
  const closing = new AbortController()
  const sending = sendDoorMetrics(settings, door, log, closing.signal)
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const health = await startHealthServer({
    host: settings.DOOR_HOST,
    port: settings.DOOR_HEALTH_PORT,
    problem: () => door.problem(),
    registry: {
      contentType: registry.contentType,
      metrics: async () => `${await registry.metrics()}\n${agentFiguresText(door.figures())}`,
    },
  })
  return {
    healthPort: health.port,
    async close() {
      await door.close()
      closing.abort()
      await sending
      await health.close()
      accessLog.close()
    },
  }
}

async function openAccessLog(file: string | undefined, log: Log): Promise<AccessLog> {
  if (file !== undefined && file !== STDOUT) await checkAccessLog(file)
  const accessLog = new AccessLog()
  accessLog.setFile(file ?? null)
  const failure = createRecurringFailure(log, {}, 'lines of APPS_ACCESS_LOG wait, because they can’t be written')
  const report = () => (accessLog.problem === null ? failure.worked() : failure.failed(accessLog.problem))
  setInterval(report, REPORT_INTERVAL_MS).unref()
  return accessLog
}

/** Runs until the signal aborts. Never throws. Samples are lost while no server stores them. */
async function sendDoorMetrics(
  { CONTROL_PLANE_URL: url, DOOR_TOKEN: token }: DoorSettings,
  door: Pick<ClusterDoor, 'figures'>,
  log: Log,
  signal: AbortSignal,
): Promise<void> {
  const counts = new DoorCounts()
  counts.since({ agents: {}, droppedLogLines: 0 })
  await measureRegularly(
    {
      log,
      runtime: {
        measure: async () =>
          [...counts.since(door.figures())].flatMap(([deploymentId, revisions]) =>
            [...revisions.values()].map((counted) => ({ deploymentId, ...counted })),
          ),
      },
      controlPlane: {
        async metrics({ processNumber, samples }) {
          for (const part of batches(samples))
            await sendSamples({ url, token }, toWire(metricsRequest, { processNumber, samples: part }), signal)
        },
      },
    },
    signal,
  )
}
