/**
 * Opens a cluster: puts credentials, calls, watches and what they saw together.
 */
import type { V1EndpointSlice, V1Pod } from '@kubernetes/client-node'
import type { LiveObject } from '../types.ts'
import { type ClusterAccess, readOnce } from './access.ts'
import { Api } from './api.ts'
import { apply } from './apply.ts'
import type { Cluster, ClusterOptions, ClusterTimes } from './cluster.ts'
import { Credentials } from './credentials.ts'
import { followLog } from './follow-log.ts'
import { ENDPOINTS } from './kinds.ts'
import { mark } from './mark.ts'
import { remove } from './remove.ts'
import { retrying } from './retry.ts'
import { Store } from './store.ts'
import { warnings } from './warnings.ts'
import { Watches } from './watches.ts'

const TIMES: ClusterTimes = {
  call: 15_000,
  watch: 120_000,
  silence: 10_000,
  relist: 600_000,
  firstRetry: 250,
  longestRetry: 10_000,
}

/** Rejects when the kubeconfig can't be read or names no cluster; the API server itself need not be there yet. */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const times = { ...TIMES, ...options.times }
  const store = new Store()
  const api = new Api({
    credentials: new Credentials(options.kubeconfig),
    callsAtATime: options.callsAtATime ?? 16,
    callMs: times.call,
    silenceMs: times.silence,
    onTimeout: () => watches.renew(),
  })
  const access: ClusterAccess = { api, store, times }
  const watches = new Watches(access, options.log)

  return {
    open: (namespace, signal) => watches.open(namespace, signal),
    objects: (deploymentId) => store.of(deploymentId).filter((object) => !isPod(object) && !isEndpoints(object)),
    // the API's JSON as it is: times are strings in it, whatever V1Pod says
    pods: (deploymentId) => store.of(deploymentId).filter(isPod) as unknown as V1Pod[],
    endpoints: (namespace, deploymentId) =>
      watches.sees(namespace, ENDPOINTS)
        ? (store.of(deploymentId).filter(isEndpoints) as unknown as V1EndpointSlice[])
        : null,
    onChange: (told) => store.onChange(told),
    read: (ref) => retrying(times, () => readOnce(access, ref)),
    apply: (manifest, fence) => apply(access, manifest, fence),
    mark: (ref, fence) => mark(access, ref, fence),
    remove: (object, fence, propagation = 'background') => remove(access, object, fence, propagation),
    warnings: (namespace, uid) => warnings(access, namespace, uid),
    followLog: (pod, container, options, onLine, signal) =>
      followLog(access, { pod, container }, options, onLine, signal),
    problem: () => watches.problem(),
    async close() {
      watches.close()
      api.close()
    },
  }
}

const isPod = ({ kind }: LiveObject) => kind === 'Pod'
const isEndpoints = ({ kind }: LiveObject) => kind === ENDPOINTS.kind
