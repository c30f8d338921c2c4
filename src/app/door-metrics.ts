/** Sends samples of the requests that a door of a cluster gets to the server that it follows, for the series of deployments. */
import { DoorCounts } from '../dataplane/process/metrics/door-counts.ts'
import { measureRegularly } from '../dataplane/worker/metrics-loop.ts'
import { toWire } from '../domain/parsing/codec.ts'
import { metricsRequest } from '../domain/protocol/requests.ts'
import type { ClusterDoor } from '../door/cluster-door.ts'
import { sendSamples } from '../door/follow-news.ts'
import { batches } from '../listener/control-plane.ts'
import type { DoorSettings } from '../platform/config/door-settings.ts'
import type { Log } from '../platform/log/log.ts'

/** Runs until the signal aborts. Never throws. Samples are lost while no server stores them. */
export async function sendDoorMetrics(
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
