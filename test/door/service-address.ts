// The address of the loopback interface that stands for the Service of a deployment.
export const serviceAddress = (id: string): string =>
  `127.${[...Buffer.from(id.replaceAll('-', ''), 'hex').subarray(0, 3)].join('.')}`
