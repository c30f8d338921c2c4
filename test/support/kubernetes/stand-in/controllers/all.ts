/** Starts all controllers, the scheduler and the kubelets. */
import type { Context } from '../context.ts'
import { type Kubelet, startKubelet } from '../kubelet/kubelet.ts'
import { startAutoscalers } from './autoscalers.ts'
import { startDeployments } from './deployments.ts'
import { type EndpointController, startEndpoints } from './endpoints.ts'
import { startGarbageCollector } from './garbage.ts'
import { startNamespaces } from './namespaces.ts'
import { startQuotas } from './quotas.ts'
import { startReplicaSets } from './replicasets.ts'
import { startScheduler } from './scheduler.ts'
import { startStatefulSets } from './statefulsets.ts'
import { startVolumes } from './volumes.ts'

export interface Controllers {
  kubelet: Kubelet
  endpoints: EndpointController
}

export function startControllers(context: Context): Controllers {
  startNamespaces(context)
  startGarbageCollector(context)
  startReplicaSets(context)
  startDeployments(context)
  startStatefulSets(context)
  startAutoscalers(context)
  startQuotas(context)
  startVolumes(context)
  startScheduler(context)
  return { endpoints: startEndpoints(context), kubelet: startKubelet(context) }
}
