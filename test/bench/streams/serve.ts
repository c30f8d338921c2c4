/** The part of a measured server that the bench speaks to. */
import { now, type Order, type Report } from './protocol.ts'

/** `publish`: writes one event, whose message is this; resolves when it is written. */
export function serve(hello: Report, publish: (message: string) => Promise<void>): void {
  const say = (what: Report) => process.send?.(what)
  const obey = async (order: Order) => {
    if (order.do === 'publish') {
      const began = now()
      for (let i = 0; i < order.count; i++) {
        const due = began + i * order.apart
        if (due > now()) await new Promise((resolve) => setTimeout(resolve, due - now()))
        await publish(`${order.from + i} ${now().toFixed(3)}`)
      }
      say({ published: order.count })
    } else {
      for (let i = 0; i < 2 && order.collect; i++) {
        globalThis.gc?.()
        await new Promise((resolve) => setTimeout(resolve, 300))
      }
      const { rss, heapUsed, external } = process.memoryUsage()
      const { user, system } = process.cpuUsage()
      say({ memory: { rss, heap: heapUsed + external }, cpu: (user + system) / 1000 })
    }
  }
  process.on('message', (order: Order) => void obey(order))
  say(hello)
}
