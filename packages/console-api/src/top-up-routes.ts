// Top-up routes serve payments, the saved card and automatic top-ups of an account.
import { z } from "zod";
import { routes } from "./console-route.ts";
import { pageQuery } from "./fields.ts";
import * as topUps from "./top-up-records.ts";

export const topUpRoutes = routes({
  listPayments: {
    method: "GET",
    path: "/console/api/accounts/:account/payments",
    access: "viewer",
    summary: "Top-ups, newest first",
    query: z.object({
      ...pageQuery,
      ...topUps.paymentQuery,
      id: z.string().min(1).max(100).optional().describe("only this one"),
    }),
    answer: topUps.paymentPage,
  },
  exportPayments: {
    method: "GET",
    path: "/console/api/accounts/:account/payments.csv",
    access: "viewer",
    summary: "The newest 10,000 top-ups as CSV",
    query: z.object(topUps.paymentQuery),
  },
  createPayment: {
    method: "POST",
    path: "/console/api/accounts/:account/payments",
    access: "admin",
    summary: "Begin a top-up; the answer has the address of the payment page",
    body: topUps.paymentBody,
    status: 201,
    answer: topUps.newPayment,
  },
  readInvoice: {
    method: "GET",
    path: "/console/api/accounts/:account/payments/:id/invoice",
    access: "admin",
    summary: "The present address of the invoice of a top-up",
    answer: topUps.invoice,
  },
  openBillingDetails: {
    method: "POST",
    path: "/console/api/accounts/:account/billing-details",
    access: "admin",
    summary: "Open the page of the payment service with address, tax id and invoices",
    status: 201,
    answer: topUps.stripePage,
  },
  readAutoTopUp: {
    method: "GET",
    path: "/console/api/accounts/:account/auto-top-up",
    access: "admin",
    summary: "Automatic top-ups, and the saved card",
    answer: topUps.autoTopUp,
  },
  changeAutoTopUp: {
    method: "PATCH",
    path: "/console/api/accounts/:account/auto-top-up",
    access: "admin",
    summary: "Replace the rule of automatic top-ups; the balance is checked at once",
    body: topUps.autoTopUpBody,
    answer: topUps.autoTopUp,
  },
  saveCard: {
    method: "POST",
    path: "/console/api/accounts/:account/card",
    access: "admin",
    summary: "Open the page of the payment service that saves a card in place of the earlier one",
    status: 201,
    answer: topUps.stripePage,
  },
  removeCard: {
    method: "DELETE",
    path: "/console/api/accounts/:account/card",
    access: "admin",
    summary: "Remove the saved card, and switch automatic top-ups off",
    status: 204,
  },
});
