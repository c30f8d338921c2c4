/** Tells whether a refused pod would fit in place of an existing pod. If not, removing that only reduces capacity. */
import type { V1Pod } from '@kubernetes/client-node'
import { exceededResources } from '../api-server/messages.ts'
import { bytesOf } from '../render/quantity.ts'

/** `refusal`: the cluster's message. Resources that it does not name count as free. */
export function fitsInPlaceOf(old: V1Pod, refusal: string): boolean {
  return exceededResources(refusal).every(({ resource, requested, used, limited }) => {
    const after = bytesOf(used) - amountOf(old, resource) + bytesOf(requested)
    // sums of decimals have rounding errors
    return !(after > bytesOf(limited) * (1 + 1e-9))
  })
}

/** Amount that the pod uses of a quota's resource; NaN: unknown resource. */
function amountOf({ spec }: V1Pod, resource: string): number {
  if (/^(count\/)?pods$/.test(resource)) return 1
  const [, kind = 'requests', name = ''] =
    /^(?:(requests|limits)\.)?(cpu|memory|ephemeral-storage)$/.exec(resource) ?? []
  if (!name) return Number.NaN
  const amounts = (spec?.containers ?? []).map(({ resources }) => {
    const quantity = resources?.[kind as 'requests' | 'limits']?.[name]
    return quantity === undefined ? 0 : bytesOf(quantity)
  })
  return amounts.reduce((sum, amount) => sum + amount, 0)
}
