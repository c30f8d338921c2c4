/** Opens the sender of webhooks. The first message loads its packages, because most servers and commands send none. */
import type { WebhookSender } from '../domain/ports/webhook-sender.ts'
import { addressRefusal, type OutboundRules } from '../platform/http/outbound-address.ts'

export function createWebhookSender(rules: OutboundRules): WebhookSender {
  let loading: Promise<WebhookSender> | null = null
  return {
    refusal: (url) => addressRefusal(rules, url),
    async send(message, signal) {
      loading ??= import('./webhook-sender.ts').then(({ openSender }) => openSender(rules))
      return (await loading).send(message, signal)
    },
  }
}
