/* Have a document reviewed, and show what is said of it. */
import { empty, fill, post } from "./asking.js";

const form = document.getElementById("review"), opinion = document.getElementById("opinion");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  empty(opinion, "Reading ...");
  try {
    const told = await post("/review.json", Object.fromEntries(new FormData(form)));
    fill(opinion, told.markup);
    opinion.focus();
  } catch (problem) {
    empty(opinion, problem.message);
  }
  button.disabled = false;
});
