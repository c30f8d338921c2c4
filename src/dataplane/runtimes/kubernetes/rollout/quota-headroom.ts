/**
 * Whether a pod that a quota refuses would have room in the place of one that is there: otherwise nothing is won when that
 * one goes, and it serves no more.
 */
import type { V1Pod } from '@kubernetes/client-node'
import { exceededResources } from '../api-server/messages.ts'
import { bytesOf } from '../render/quantity.ts'

/** `refusal`: the cluster's words. What they don't say counts as room. */
export function fitsInPlaceOf(old: V1Pod, refusal: string): boolean {
  return exceededResources(refusal).every(({ resource, requested, used, limited }) => {
    const after = bytesOf(used) - amountOf(old, resource) + bytesOf(requested)
    // sums of decimals are a little off
    return !(after > bytesOf(limited) * (1 + 1e-9))
  })
}

/** What a quota counts of a pod; NaN: not known here. */
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
